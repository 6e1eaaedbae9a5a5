package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// builds measures what users build: the packages, the build from an empty cache and the file size of a test that
// imports bowlinetest, and of the program as it is released, stripped and static.
func builds() measurement {
	return measurement{
		figures: []figure{
			{"a test that imports bowlinetest: packages", packages, 900},
			{"a test that imports bowlinetest: build from an empty cache", seconds, 150},
			{"a test that imports bowlinetest: file size", mebibytes, 90},
			{"cmd/bowline, stripped and static: packages", packages, 1_600},
			{"cmd/bowline, stripped and static: build from an empty cache", seconds, 240},
			{"cmd/bowline, stripped and static: file size", mebibytes, 100},
		},
		starts: true,
		most:   1,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			test, err := l.libraryUser()
			if err != nil {
				return nil, err
			}
			readings, err := l.build(ctx, test, []string{"list", "-deps", "-test", "."},
				[]string{"test", "-c", "-o"}, []string{"."})
			if err != nil {
				return nil, err
			}
			program, err := l.build(ctx, "..", []string{"list", "-deps", "./cmd/bowline"},
				[]string{"build", "-ldflags=-s -w", "-trimpath", "-o"}, []string{"./cmd/bowline"})
			return append(readings, program...), err
		},
	}
}

// libraryUser creates a module with a test that imports bowlinetest, and returns its folder.
func (l *lab) libraryUser() (string, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return "", err
	}
	const bowline = "github.com/bowline-dev/bowline"
	_, requirements, _ := strings.Cut(string(mod), "\nrequire (")
	folder := filepath.Join(l.dir, "user")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/user\n\ngo 1.26.8\n\nreplace " + bowline + " => " + root +
			"\n\nrequire " + bowline + " v0.0.0\n\nrequire (" + requirements,
		"go.sum": string(sum),
		"user_test.go": `package user

import (
	"testing"

	"` + bowline + `/bowlinetest"
)

func TestStart(t *testing.T) { bowlinetest.Start(t) }
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// build counts the packages of a program, and builds it in a folder with an empty cache. build is the go command up
// to the name of the file, and targets are what follows.
func (l *lab) build(ctx context.Context, folder string, list, build, targets []string) ([]reading, error) {
	cache, err := os.MkdirTemp(l.dir, "cache-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	environment := append(os.Environ(), "GOCACHE="+cache, "CGO_ENABLED=0")
	if folder != ".." {
		environment = append(environment, "GOWORK=off", "GOFLAGS=-mod=mod")
	}
	run := func(arguments ...string) (string, error) {
		command := exec.CommandContext(ctx, "go", arguments...)
		command.Dir, command.Env, command.Stderr = folder, environment, os.Stderr
		output, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", command, err)
		}
		return string(output), nil
	}
	listed, err := run(list...)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(cache, "program")
	start := time.Now()
	if _, err := run(append(append(build, file), targets...)...); err != nil {
		return nil, err
	}
	took := time.Since(start)
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	return []reading{
		{Value: float64(strings.Count(listed, "\n"))},
		{Value: took.Seconds()},
		{Value: float64(info.Size()) / (1 << 20)},
	}, nil
}
