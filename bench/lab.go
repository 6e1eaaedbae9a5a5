package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// lab is the state that all measurements share: the options, and the program to measure.
type lab struct {
	runs       int
	profiles   string // a folder, or empty
	kubeconfig string // of a running server, or empty
	pid        int
	keeps      bool // servers store their objects on disk

	dir    string // for kubeconfigs and state, removed at the end
	binary string // the bowline binary
	gogc   string // as reported by the last server
}

// open builds the server and creates the folders.
func (l *lab) open(ctx context.Context) error {
	var err error
	if l.dir, err = os.MkdirTemp("", "bowline-bench-"); err != nil {
		return err
	}
	if l.profiles != "" {
		if err := os.MkdirAll(l.profiles, 0o755); err != nil {
			return err
		}
	}
	if l.kubeconfig != "" {
		return nil
	}
	fmt.Fprintln(os.Stderr, "building bowline")
	l.binary = filepath.Join(l.dir, "bowline")
	build := exec.CommandContext(ctx, "go", "build", "-o", l.binary, "./cmd/bowline")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		l.close()
		return fmt.Errorf("%s: %w (run this in the folder bench)", build, err)
	}
	return nil
}

func (l *lab) close() {
	os.RemoveAll(l.dir)
}

// restConfig returns the configuration of an unmodified client, except that it has no rate limit and does not
// request compression, which costs more than it saves over loopback.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.DisableCompression = true
	return config, nil
}

// describe prints what was measured and on which machine.
func (l *lab) describe(ctx context.Context, to io.Writer) {
	what := "bowline " + commit(ctx)
	if l.kubeconfig != "" {
		what = "the server of " + l.kubeconfig
	}
	fmt.Fprintf(to, "%s; GOGC of the server %s, of the client %s; %s, %d cores; median of %d\n\n",
		what, orUnknown(l.gogc), clientGOGC(), runtime.Version(), runtime.NumCPU(), l.runs)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func clientGOGC() string {
	if s := os.Getenv("GOGC"); s != "" {
		return s
	}
	return "100"
}

// commit returns the commit that is checked out, and marks it if files differ.
func commit(ctx context.Context) string {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "of an unknown commit"
	}
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no", "..").Output()
	name := strings.TrimSpace(string(hash))
	if err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
}
