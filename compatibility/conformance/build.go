package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the files of the programs that a run needs.
type programs struct {
	bowline, suite string
	ginkgo         string // runs specs of the suite in several processes
	kubectl        string // the one in bowline
}

// build builds the programs that the flags do not name, in a folder.
func (o *options) build(ctx context.Context, dir string, progress io.Writer) (programs, error) {
	p := programs{o.bowline, o.suite, filepath.Join(dir, "ginkgo"), filepath.Join(dir, "kubectl")}
	if p.bowline == "" {
		p.bowline = filepath.Join(dir, "bowline")
		fmt.Fprintln(progress, "building bowline")
		if err := goCommand(ctx, "../..", "", "build", "-o", p.bowline, "./cmd/bowline"); err != nil {
			return p, err
		}
	}
	if p.suite == "" {
		p.suite = filepath.Join(dir, "suite.test")
		fmt.Fprintln(progress, "building the suite")
		version, err := suiteVersion(ctx)
		if err != nil {
			return p, err
		}
		if err := goCommand(ctx, ".", "off", "test", "-c", "-vet=off", "-ldflags", variables(version), "-o", p.suite,
			"./suite"); err != nil {
			return p, err
		}
	}
	if err := goCommand(ctx, ".", "off", "build", "-o", p.ginkgo, "github.com/onsi/ginkgo/v2/ginkgo"); err != nil {
		return p, err
	}
	for _, file := range []*string{&p.bowline, &p.suite} { // Ginkgo runs the suite in a folder of its own
		absolute, err := filepath.Abs(*file)
		if err != nil {
			return p, err
		}
		*file = absolute
	}
	return p, p.linkKubectl()
}

// linkKubectl writes a script that calls the kubectl of bowline, because the suite accepts only the name of a program.
func (p *programs) linkKubectl() error {
	quoted := "'" + strings.ReplaceAll(p.bowline, "'", `'\''`) + "'"
	return os.WriteFile(p.kubectl, []byte("#!/bin/sh\nexec "+quoted+" kubectl \"$@\"\n"), 0o700)
}

// variables returns linker flags that set the version of Kubernetes, such as v1.37.2, as Kubernetes' own build does. A
// spec of the suite reads the minor version.
func variables(version string) string {
	const pkg = "k8s.io/component-base/version"
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	flags := "-s -w -X " + pkg + ".gitVersion=" + version + " -X k8s.io/client-go/pkg/version.gitVersion=" + version
	if len(numbers) == 3 {
		flags += " -X " + pkg + ".gitMajor=" + numbers[0] + " -X " + pkg + ".gitMinor=" + numbers[1]
	}
	return flags
}

// suiteVersion returns the version of Kubernetes that the suite is of.
func suiteVersion(ctx context.Context) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	return strings.TrimSpace(string(out)), err
}

// goCommand runs the go command in a folder, with GOWORK set to workspace: off, or the empty string for the workspace
// that the folder is in.
func goCommand(ctx context.Context, folder, workspace string, arguments ...string) error {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Env = folder, append(os.Environ(), "GOWORK="+workspace)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return nil
}
