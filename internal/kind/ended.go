package kind

// Ender is implemented by kinds that are made and taken away while the server runs.
type Ender interface {
	// Ended is closed when objects are served by another kind from then on, or no longer: watches end with it, so that
	// their clients look again.
	Ended() <-chan struct{}
}
