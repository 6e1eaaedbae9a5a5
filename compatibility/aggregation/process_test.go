package aggregation

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programs is the folder of the programs that TestMain builds.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "aggregation-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	for folder, packages := range map[string][]string{
		".": {"./etcd", "./sample-apiserver"}, "../../cmd/bowline": {"."},
	} {
		fmt.Fprintln(os.Stderr, "building", packages, "in", folder)
		build := exec.Command("go", append([]string{"build", "-o", programs + string(filepath.Separator)}, packages...)...)
		build.Dir, build.Stderr = folder, os.Stderr
		build.Env = slicesWithout(os.Environ(), "GOWORK=")
		if folder == "." {
			build.Env = append(build.Env, "GOWORK=off")
		}
		if err := build.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s in %s: %v\n", build, folder, err)
			return 1
		}
	}
	return m.Run()
}

// slicesWithout returns the variables without those that start with a prefix.
func slicesWithout(variables []string, prefix string) (others []string) {
	for _, v := range variables {
		if !strings.HasPrefix(v, prefix) {
			others = append(others, v)
		}
	}
	return others
}

// start starts a program and kills it when the test ends, or when the returned function is called.
func start(t *testing.T, name string, args ...string) (kill func()) {
	t.Helper()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		command.Wait() // it is killed
	}()
	kill = func() {
		cancel()
		<-ended
	}
	t.Cleanup(func() {
		kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, log.String())
		}
	})
	return kill
}

// freeAddress returns an address on the loopback interface that nothing listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// awaitFile waits until a program has written a file.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s does not exist after a minute", path)
}
