package nginx

import "context"

// server is an nginx as the controller uses it. The real one is process.
type server interface {
	// Test checks whether nginx would accept a configuration. The error is a *refusal if nginx rejects it;
	// any other error is inconclusive.
	Test(ctx context.Context, c Configuration) error
	// Serve makes nginx use a configuration, and returns when it serves all new requests accordingly. It is
	// cheap if nginx uses the configuration already. After an error nginx continues with the previous
	// configuration.
	Serve(ctx context.Context, c Configuration) error
}

// refusal is nginx's reason for rejecting a configuration.
type refusal struct{ message string }

func (r *refusal) Error() string { return "nginx refuses the configuration: " + r.message }
