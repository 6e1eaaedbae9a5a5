package bowlinetest

import "github.com/bowline-dev/bowline"

// Option changes how a plane starts.
type Option func(*settings)

// settings are what options have set.
type settings struct {
	plane bowline.Options
}

// With changes the options of the plane itself: a socket to listen on, admission plugins, which of its controllers run.
func With(change func(*bowline.Options)) Option {
	return func(s *settings) { change(&s.plane) }
}
