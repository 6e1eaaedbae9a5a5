package server

// roomy makes room on the stack of a new goroutine for all that a write does. Go begins with a few KiB and, each time they
// are used up, doubles and copies what is there, frame by frame: done once, before there are frames, it costs a tenth of
// doubling three times on the way. The garbage collector takes back what a long request does not use.
//
//go:noinline
func roomy(n int) byte {
	var room [14 << 10]byte
	return room[n]
}
