// Package lab is what the programs of examples/clients have in common, so that each of them is little but its client:
// flags, the server they mean, and how a program ends. It sends no request.
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

// Program is one of the programs. It may define flags of its own, on flag.CommandLine.
type Program struct {
	Arguments  string // what may follow the flags, for --help; empty for nothing
	Namespaced bool   // takes --namespace
	// Run does the work, until ctx ends: that is when the user has had enough (Ctrl-C).
	Run func(ctx context.Context, s Server) error
}

// Server is what a program works with.
type Server struct {
	Config    *rest.Config
	Namespace string // of --namespace, else of the context, else default
	Arguments []string
}

// Argument is the first argument, or what it is when none is given.
func (s Server) Argument(otherwise string) string {
	if len(s.Arguments) > 0 {
		return s.Arguments[0]
	}
	return otherwise
}

// Main runs a program and ends the process: with 0 when all went well, 1 and a line that says what to do when not, 2 for
// wrong flags, 130 when it was stopped (Ctrl-C) before its work was done.
func Main(p Program) {
	warnings := &slog.HandlerOptions{Level: slog.LevelWarn}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(os.Stderr, warnings))) // what client-go has to say
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	s, err := p.parse()
	if err == nil {
		err = p.Run(ctx, s)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil: // what failed, failed because of the signal
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "error:", s.explain(err))
		os.Exit(1)
	}
}

// parse reads the command line and finds the server. It ends the process for --help and for flags that there are not.
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
		fmt.Fprintf(os.Stderr, "error: %q is one argument too many\n", s.Arguments[most])
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

// ofBowlineUp is the kubeconfig that bowline up leaves in the user's state folder, if there is one and nothing else says
// which server is meant.
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
