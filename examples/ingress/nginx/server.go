package nginx

import "context"

// server is a nginx as the controller sees it: process is a real one.
type server interface {
	// Test says whether nginx would take a configuration. A *refusal is nginx's own word that it would not; any other error says
	// nothing about the configuration.
	Test(ctx context.Context, c Configuration) error
	// Serve has nginx take a configuration, and returns when all requests that come from now on are answered by it. One that it
	// has already costs nothing. After an error it serves as before.
	Serve(ctx context.Context, c Configuration) error
}

// refusal is what nginx has against a configuration, in its own words.
type refusal struct{ message string }

func (r *refusal) Error() string { return "nginx refuses the configuration: " + r.message }
