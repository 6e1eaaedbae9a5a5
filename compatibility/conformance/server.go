package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// server is a bowline up process.
type server struct {
	kubeconfig string
	process    *exec.Cmd
	log        tail // of its standard error
}

// startServer starts bowline up with three simulated nodes, on a free port and with its state in dir, and waits until
// the server is ready. Only stop ends the server: an interrupted suite deletes its objects after the end of ctx.
func startServer(ctx context.Context, bowline, dir string) (*server, error) {
	s := &server{kubeconfig: filepath.Join(dir, "kubeconfig")}
	s.process = exec.CommandContext(context.WithoutCancel(ctx), bowline, "up", "--nodes", "3",
		"--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "state"), "--kubeconfig", s.kubeconfig)
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for the suite
	output, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.process.Stderr = &s.log
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(output)
	if first, err := lines.ReadString('\n'); err != nil || !strings.Contains(first, "ready in") {
		killErr, waitErr := s.process.Process.Kill(), s.process.Wait()
		return nil, errors.Join(fmt.Errorf("bowline up did not become ready: %q\n%s", first, s.log.text), err,
			killErr, waitErr)
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // ends with the process
	return s, nil
}

// stop ends the server, and fails if it ended before.
func (s *server) stop() error {
	err := s.process.Process.Signal(syscall.SIGTERM)
	if err = errors.Join(err, s.process.Wait()); err != nil {
		return fmt.Errorf("bowline up: %w\n%s", err, s.log.text)
	}
	return nil
}
