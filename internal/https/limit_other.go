//go:build !unix

package https

// MaxConnections returns the maximum number of open connections for systems without a known limit of
// files.
func MaxConnections() int { return 1 << 20 }
