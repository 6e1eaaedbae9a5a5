package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/examples/ingress"
)

// ingressFlags are those of up for the ingress controllers.
type ingressFlags struct {
	http, https string
}

func (f *ingressFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.http, "ingress-http", "127.0.0.1:8080",
		"`address` that the ingress controllers' nginx serves HTTP on; port 0 takes any free one, empty is nowhere")
	set.StringVar(&f.https, "ingress-https", "127.0.0.1:8443", "`address` that it serves HTTPS on")
}

// check is an error when one of the flags is given and the controllers do not run.
func (f *ingressFlags) check(cmd *cobra.Command, run bool) error {
	for _, name := range []string{"ingress-http", "ingress-https"} {
		if !run && cmd.Flags().Changed(name) {
			return usagef("--%s is where the ingress controllers' nginx listens, and they do not run: "+
				"add --controllers='*,ingress', or leave it out", name)
		}
	}
	return nil
}

// runIngress runs the ingress controllers in this process, on the server's own objects, and the nginx that they command, until
// ctx is done.
func (p *upPlan) runIngress(ctx context.Context, plane *bowline.Plane, home *home) error {
	err := ingress.Run(ctx, ingress.Options{
		Config:  plane.RESTConfig(),
		Source:  plane.Source(),
		Folder:  home.ingress,
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
