package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bench/launch"
)

// server is the measured process.
type server struct {
	lab     *lab
	config  *rest.Config
	process process
	command *exec.Cmd // nil for a server that was not started here
	profile io.Writer // receives the names of profiles to write; nil without profiles
	log     *bytes.Buffer
	cleanup []func(context.Context) error
}

// server starts a new server, with more flags of bowline up, or connects to the one that the flags name.
func (l *lab) server(ctx context.Context, more ...string) (*server, error) {
	if l.kubeconfig != "" {
		config, err := restConfig(l.kubeconfig)
		return &server{lab: l, config: config, process: process(l.pid)}, err
	}
	dir, err := os.MkdirTemp(l.dir, "server-")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if l.profiles != "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return l.launch(ctx, kubeconfig, exec.Command(self, childServe, kubeconfig))
	}
	flags := []string{"--ephemeral"}
	if l.keeps {
		flags = []string{"--data", filepath.Join(dir, "plane")}
	}
	return l.launch(ctx, kubeconfig,
		exec.Command(l.binary, append([]string{"up", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig},
			append(flags, more...)...)...))
}

// launch starts a server and waits until it is ready.
func (l *lab) launch(ctx context.Context, kubeconfig string, command *exec.Cmd) (s *server, err error) {
	s = &server{lab: l, command: command, log: &bytes.Buffer{}}
	command.Stdout, command.Stderr = s.log, s.log
	if l.profiles != "" {
		if s.profile, err = command.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if err := launch.Start(ctx, command, kubeconfig); err != nil {
		if command.Process != nil {
			err = errors.Join(err, s.stop(ctx))
		}
		return nil, fmt.Errorf("%s: %w\n%s", command, err, s.log)
	}
	s.process = process(command.Process.Pid)
	s.config, err = restConfig(kubeconfig)
	return s, err
}

// stop stops a server that was started here, and removes the created objects from any other.
func (s *server) stop(ctx context.Context) error {
	var errs []error
	s.lab.noteGOGC(ctx, s)
	if s.command == nil {
		for _, undo := range s.cleanup {
			errs = append(errs, undo(ctx))
		}
		return errors.Join(errs...)
	}
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		errs = append(errs, err)
	}
	killer := time.AfterFunc(10*time.Second, func() { s.command.Process.Kill() })
	defer killer.Stop()
	return errors.Join(append(errs, s.command.Wait())...)
}

// namespace creates a namespace for the measurement.
func (s *server) namespace(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return "", err
	}
	namespaces := client.CoreV1().Namespaces()
	ns, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}},
		metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	s.cleanup = append(s.cleanup, func(ctx context.Context) error {
		return namespaces.Delete(ctx, ns.Name, metav1.DeleteOptions{})
	})
	return ns.Name, nil
}

// withServer returns a run that calls work with a new server and a namespace, and stops the server
// afterwards.
func withServer(work func(ctx context.Context, s *server, namespace string) ([]reading, error)) func(context.Context,
	*lab) ([]reading, error) {
	return func(ctx context.Context, l *lab) (readings []reading, err error) {
		s, err := l.server(ctx)
		if err != nil {
			return nil, err
		}
		namespace, err := s.namespace(ctx)
		if err == nil {
			readings, err = work(ctx, s, namespace)
		}
		return readings, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
	}
}
