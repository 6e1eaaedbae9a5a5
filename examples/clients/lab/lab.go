// Package lab contains the code that all programs of examples/clients share, so that each of them shows
// little but its client: flags, the choice of the server, and the exit status. It sends no requests.
package lab

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
)

// Program is one of the programs. It may define additional flags in flag.CommandLine.
type Program struct {
	Arguments  string // the arguments after the flags, for --help; empty for none
	Namespaced bool   // defines the flag --namespace
	// Run does the work until ctx ends, which it does when the user presses Ctrl-C.
	Run func(ctx context.Context, s Server) error
}

// Server is the configuration that the flags select.
type Server struct {
	Config    *rest.Config
	Namespace string // from --namespace, or else from the context, or else default
	Arguments []string
}

// Argument returns the first argument, or a default if there is none.
func (s Server) Argument(fallback string) string {
	if len(s.Arguments) > 0 {
		return s.Arguments[0]
	}
	return fallback
}

// Main runs a program and exits: with 0 on success, 1 after printing an error, 2 for invalid flags, and 130
// if the program was interrupted (Ctrl-C) before its work was done.
func Main(p Program) {
	warnings := &slog.HandlerOptions{Level: slog.LevelWarn}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(os.Stderr, warnings))) // logs of client-go
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	s, err := p.parse()
	if err == nil {
		err = p.Run(ctx, s)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil: // the failure is a consequence of the signal
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "error:", s.explain(err))
		os.Exit(1)
	}
}

// parse parses the command line and loads the client configuration. For --help and invalid flags it exits.
func (p Program) parse() (s Server, err error) {
	var flags client.Flags
	flags.Bind(flag.CommandLine)
	flag.Lookup("kubeconfig").Usage = "kubeconfig `file` (default: $KUBECONFIG, then ~/.kube/config, then that of bowline up)"
	if p.Namespaced {
		flag.StringVar(&s.Namespace, "namespace", "", "`name` of the namespace (default: the context's)")
	}
	flag.Usage = func() {
		usage := filepath.Base(os.Args[0]) + " [flags] " + p.Arguments
		fmt.Fprintln(flag.CommandLine.Output(), "usage:", strings.TrimSpace(usage))
		flag.PrintDefaults()
	}
	flag.Parse()
	s.Arguments = flag.Args()
	if most := min(len(p.Arguments), 1); len(s.Arguments) > most {
		fmt.Fprintf(os.Stderr, "error: unexpected argument %q\n", s.Arguments[most])
		flag.Usage()
		os.Exit(2)
	}
	if flags.Kubeconfig == "" && flags.Master == "" {
		flags.Kubeconfig = ofBowlineUp()
	}
	if s.Config, err = client.Load(flags); err == nil && s.Namespace == "" {
		s.Namespace, err = flags.Namespace()
	}
	return s, err
}

// ofBowlineUp returns the kubeconfig that bowline up writes to the user's state directory, if it exists and
// no other configuration selects a server.
func ofBowlineUp() string {
	home, err := os.UserHomeDir()
	inPod := os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	if err != nil || inPod || os.Getenv("KUBECONFIG") != "" || isThere(filepath.Join(home, ".kube", "config")) {
		return ""
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		state = filepath.Join(home, ".local", "state")
	}
	if file := filepath.Join(state, "bowline", "kubeconfig"); isThere(file) {
		return file
	}
	return ""
}

func isThere(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
