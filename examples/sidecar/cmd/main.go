// Command cmd runs the sidecar example as a program, against any server of the Kubernetes API: it adds the
// containers in the ConfigMap envoy-initializer to new pods.
//
//	go run ./examples/sidecar/cmd [--kubeconfig FILE] [--listen ADDRESS | --initializer]
//	  [--namespace NAME] [--only-annotated]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/sidecar"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	klog.SetSlogLogger(log) // logs of client-go
	if err := run(os.Args[1:], log); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string, log *slog.Logger) error {
	o, server, listen, initializer := sidecar.Options{Log: log}, client.Flags{}, "", false
	set := flag.NewFlagSet("sidecar", flag.ContinueOnError)
	server.Bind(set)
	set.StringVar(&listen, "listen", "127.0.0.1:0",
		"`address` on which the webhook listens; port 0 selects a free port")
	set.BoolVar(&initializer, "initializer", false, "run as an initializer instead of a webhook")
	set.StringVar(&o.Namespace, "namespace", "default", "`namespace` of the ConfigMap "+sidecar.ConfigMap)
	set.BoolVar(&o.OnlyAnnotated, "only-annotated", false,
		"change only pods with the annotation "+sidecar.Annotation+`: "true"`)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: this program has only flags, see --help", set.Arg(0))
	}
	var err error
	if o.Config, err = client.Load(server); err != nil {
		return fmt.Errorf("find the server: %w; or start one, with: go run ./cmd/bowline up", err)
	}
	o.Config.UserAgent = "bowline-sidecar"
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if initializer {
		return sidecar.Initialize(ctx, o)
	}
	return sidecar.ServeWebhook(ctx, o, listen)
}
