package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/bench/launch"
)

// target is the server under load.
type target struct {
	config *rest.Config
	pid    int
	// data is the folder of the server's objects.
	data string
	stop func() error
}

// startServer builds bowline and starts it with an empty folder within dir.
func startServer(ctx context.Context, dir string) (*target, error) {
	binary, kubeconfig, data := filepath.Join(dir, "bowline"), filepath.Join(dir, "kubeconfig"),
		filepath.Join(dir, "data")
	fmt.Println("building bowline")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/bowline")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w (run this in the folder bench)", build, err)
	}
	output := &bytes.Buffer{}
	server := exec.Command(binary, "up", "--data", data, "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig)
	server.Stdout, server.Stderr = output, output
	stop := func() error { return stopServer(server, output) }
	if err := launch.Start(ctx, server, kubeconfig); err != nil {
		if server.Process != nil {
			err = errors.Join(err, stop())
		}
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	return &target{config: config, pid: server.Process.Pid, data: data, stop: stop}, err
}

// stopServer stops the server. If the server ended earlier, the error includes its last output.
func stopServer(server *exec.Cmd, output *bytes.Buffer) error {
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the server is gone: %w\n%s", errors.Join(err, server.Wait()), tail(output.String()))
	}
	killer := time.AfterFunc(30*time.Second, func() { server.Process.Kill() })
	defer killer.Stop()
	if err := server.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w\n%s", err, tail(output.String()))
	}
	return nil
}

// tail returns the last lines of a text.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
