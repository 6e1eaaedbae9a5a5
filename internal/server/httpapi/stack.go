package httpapi

// roomy grows the stack of a new goroutine to the size that a write needs. Go starts with a few KiB and
// doubles the stack each time it is full, copying each frame. Growing once, before there are frames, costs a
// tenth of doubling three times later. The garbage collector shrinks the stack of a long request.
//
//go:noinline
func roomy(n int) byte {
	var room [14 << 10]byte
	return room[n]
}
