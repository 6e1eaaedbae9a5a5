package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// commandLimit is the time limit of a command.
const commandLimit = 2 * time.Minute

// user calls kubectl and Helm with the kubeconfig of a plane.
type user struct {
	programs   programs
	kubeconfig string
}

// apply applies files server-side, because the definitions of some projects are too large for kubectl's annotation. It
// repeats the command once if kubectl did not know a kind that the files define themselves, as users do.
func (u *user) apply(ctx context.Context, arguments []string) error {
	arguments = append([]string{"apply", "--server-side", "--force-conflicts"}, arguments...)
	_, err := u.kubectl(ctx, arguments...)
	if err != nil && strings.Contains(err.Error(), "ensure CRDs are installed first") {
		_, err = u.kubectl(ctx, arguments...)
	}
	return err
}

func (u *user) delete(ctx context.Context, arguments []string) error {
	_, err := u.kubectl(ctx, append([]string{"delete", "--ignore-not-found", "--timeout", "60s"}, arguments...)...)
	return err
}

func (u *user) ensureNamespace(ctx context.Context, name string) error {
	_, err := u.kubectl(ctx, "get", "namespace", name)
	if err != nil {
		_, err = u.kubectl(ctx, "create", "namespace", name)
	}
	return err
}

func (u *user) kubectl(ctx context.Context, arguments ...string) ([]byte, error) {
	return u.call(ctx, u.programs.bowline, append([]string{"kubectl"}, arguments...)...)
}

func (u *user) helm(ctx context.Context, arguments ...string) ([]byte, error) {
	return u.call(ctx, u.programs.helm, arguments...)
}

// call runs a command and returns its standard output. The error has its last lines of standard error.
func (u *user) call(ctx context.Context, program string, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+u.kubeconfig)
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	err := command.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	var lines []string
	for line := range strings.Lines(failure.String()) {
		if !strings.HasPrefix(line, "Warning:") && !strings.Contains(line, " warnings.go:") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	shown := lines[max(0, len(lines)-8):]
	return nil, errors.Join(fmt.Errorf("%s: %w", strings.Join(arguments[:min(2, len(arguments))], " "), err),
		errors.New(strings.Join(shown, "\n")))
}
