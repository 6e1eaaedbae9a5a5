package neutrontest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Serve runs a Neutron with a Keystone in front of it in a temporary folder until ctx ends. When it answers,
// Serve prints the environment variables for a client in shell syntax. It fails if the Neutron ends earlier.
func Serve(ctx context.Context, out io.Writer) error {
	folder, err := os.MkdirTemp("", "neutron-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	server, err := Start(folder)
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, out, server), server.Stop())
}

// serve prints the environment variables and returns when ctx or the Neutron ends.
func serve(ctx context.Context, out io.Writer, server *Server) error {
	const password = "secret"
	keystone, err := NewKeystone(server.URL, password)
	if err != nil {
		return err
	}
	defer keystone.Close()
	_, err = fmt.Fprintf(out, `export OS_AUTH_URL=%s
export OS_USERNAME=me OS_PASSWORD=%s OS_USER_DOMAIN_NAME=Default
export OS_PROJECT_NAME=example OS_PROJECT_DOMAIN_NAME=Default OS_REGION_NAME=here
`, keystone.URL, password)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-server.process.ended:
		return fmt.Errorf("the Neutron at %s has ended:\n%s", server.URL, server.process.logTail())
	}
}
