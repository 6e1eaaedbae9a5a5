package neutrontest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Serve runs a Neutron, with a Keystone before it, in a temporary folder until ctx ends. When it answers, the variables that lead
// there are printed as a shell reads them.
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
	const password = "secret"
	keystone, err := NewKeystone(server.URL, password)
	if err != nil {
		return errors.Join(err, server.Stop())
	}
	defer keystone.Close()
	_, err = fmt.Fprintf(out, `export OS_AUTH_URL=%s
export OS_USERNAME=me OS_PASSWORD=%s OS_USER_DOMAIN_NAME=Default
export OS_PROJECT_NAME=example OS_PROJECT_DOMAIN_NAME=Default OS_REGION_NAME=here
`, keystone.URL, password)
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, server.Stop())
}
