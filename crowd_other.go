//go:build !unix

package bowline

// roomForConnections is how many connections a process may have open, where no limit of files is known.
func roomForConnections() int { return 1 << 20 }
