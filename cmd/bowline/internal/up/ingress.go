package up

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/examples/ingress"
)

// ingressFlags holds the flags of bowline up that configure the ingress controllers.
type ingressFlags struct {
	http, https string
}

func (f *ingressFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.http, "ingress-http", "127.0.0.1:8080",
		"HTTP `address` of the ingress controllers' nginx; port 0 selects a free port, empty disables HTTP")
	set.StringVar(&f.https, "ingress-https", "127.0.0.1:8443", "HTTPS `address` of the ingress controllers' nginx")
}

// check returns a usage error if one of the flags is set and the ingress controllers are not enabled.
func (f *ingressFlags) check(cmd *cobra.Command, run bool) error {
	for _, name := range []string{"ingress-http", "ingress-https"} {
		if !run && cmd.Flags().Changed(name) {
			return cli.Usagef("--%s requires the ingress controllers: "+
				"add --controllers='*,ingress', or omit the flag", name)
		}
	}
	return nil
}

// runIngress runs the ingress controllers and the nginx process that they manage until ctx is done. The
// controllers share the plane's in-process Source.
func (p *plan) runIngress(ctx context.Context, plane *bowline.Plane, home *serve.Home) error {
	err := ingress.Run(ctx, ingress.Options{
		Config:  plane.RESTConfig(),
		Source:  plane.Source(),
		Folder:  home.Ingress,
		HTTP:    p.flags.ingress.http,
		HTTPS:   p.flags.ingress.https,
		Journal: plane.Journal(),
		Log:     p.log,

		TracerProvider: p.traces,
	})
	if err != nil {
		return fmt.Errorf("ingress controllers, with --ingress-http %s and --ingress-https %s: %w",
			p.flags.ingress.http, p.flags.ingress.https, err)
	}
	return nil
}
