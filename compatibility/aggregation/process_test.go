package aggregation

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, b := range []struct {
		folder, workspace string
		packages          []string
	}{
		{".", "off", []string{"./etcd", "./sample-apiserver"}},
		{"../../cmd/bowline", "", []string{"."}}, // in the workspace that it is in
	} {
		fmt.Fprintln(os.Stderr, "building", b.packages, "in", b.folder)
		arguments := append([]string{"build", "-o", programs + string(filepath.Separator)}, b.packages...)
		build := exec.Command("go", arguments...)
		build.Dir, build.Env, build.Stderr = b.folder, append(os.Environ(), "GOWORK="+b.workspace), os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s in %s: %v\n", build, b.folder, err)
			return 1
		}
	}
	return m.Run()
}

// start starts a program and kills it when the test ends, or when the returned function is called.
func start(t testing.TB, name string, args ...string) (kill func()) {
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
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// awaitFile waits until a program has written a file.
func awaitFile(t testing.TB, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s does not exist after a minute", path)
}
