package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// crashServer is a bowline up process that tests kill. Its state folder survives.
type crashServer struct {
	cmd        *exec.Cmd
	kubeconfig string
	served     chan struct{} // closed when it starts to serve
	exited     chan struct{} // closed when it has ended
	killed     atomic.Bool
	stderr     bytes.Buffer // may be read after exited is closed
}

// ownObjects disables the controller that creates ConfigMaps, for tests that count ConfigMaps.
const ownObjects = "--controllers=*,-serviceaccount"

// startCrashServer starts a server with a state folder and additional flags of bowline up.
func startCrashServer(t *testing.T, folder string, flags ...string) *crashServer {
	t.Helper()
	args := append([]string{"up", "--listen", "127.0.0.1:0", "--data", folder}, flags...)
	return startCrashCommand(t, folder, exec.Command("bowline", args...))
}

// startCrashCommand starts a command that runs such a server.
func startCrashCommand(t *testing.T, folder string, cmd *exec.Cmd) *crashServer {
	t.Helper()
	m := &crashServer{
		cmd:        cmd,
		kubeconfig: filepath.Join(folder, "kubeconfig"),
		served:     make(chan struct{}), exited: make(chan struct{}),
	}
	m.cmd.Env = append(os.Environ(), "HOME="+folder, "KUBECONFIG=")
	m.cmd.Stderr = &m.stderr
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go m.follow(stdout)
	t.Cleanup(m.kill)
	return m
}

// follow reads the server's output until it ends.
func (m *crashServer) follow(stdout io.Reader) {
	var once sync.Once
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if strings.Contains(lines.Text(), "export KUBECONFIG=") {
			once.Do(func() { close(m.served) })
		}
	}
	m.cmd.Wait() // it was killed, or its log explains the error
	close(m.exited)
}

// ready waits until the server serves, and returns the configuration for its clients, or nil if the server
// was killed before.
func (m *crashServer) ready() (*rest.Config, error) {
	select {
	case <-m.served:
		config, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
		if err != nil {
			return nil, err
		}
		config.QPS = -1
		return config, nil
	case <-m.exited:
		if m.killed.Load() {
			return nil, nil
		}
		return nil, fmt.Errorf("%s ended before it served:\n%s", m.cmd, m.stderr.String())
	case <-time.After(patience):
		m.kill()
		return nil, fmt.Errorf("%s did not serve within %s:\n%s", m.cmd, patience, m.stderr.String())
	}
}

// kill kills the process like a crash, and waits until it has ended.
func (m *crashServer) kill() {
	m.killed.Store(true)
	m.cmd.Process.Kill() // fails if the process has ended
	<-m.exited
}
