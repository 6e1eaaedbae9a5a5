package attacks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/program"
)

const (
	// maxData is the limit of a server's data segment. It is far above the limit of a row, so that a row that fails
	// reports its memory, and far below the memory of a machine.
	maxData = 3 << 30

	startTime = 30 * time.Second
	stopTime  = 15 * time.Second // requests in flight are drained for 5

	// asServer is a variable in the environment of a server's process. Its value is a limit: see limitProcess.
	asServer = "BOWLINE_ATTACKS_SERVER"
)

// runServer runs the bowline program, if this process is to be a server.
func runServer() {
	limits := os.Getenv(asServer)
	if limits == "" {
		return
	}
	if err := limitProcess(limits); err != nil {
		fmt.Fprintln(os.Stderr, "limiting the memory of the process:", err)
		os.Exit(1)
	}
	program.Main()
	os.Exit(0)
}

// server is a process that runs bowline up.
type server struct {
	t       *testing.T
	folder  string // its home, temporary folder and kubeconfig
	address string
	admin   *http.Client // over HTTP/2, as the administrator
	tls     *tls.Config  // with the administrator's certificate

	keeping sync.Mutex
	opened  []func() // close what is open until the server stops

	cmd    *exec.Cmd
	log    logged
	exited chan struct{}
}

// command returns a command that runs the bowline program with a limit on its memory, at home in a folder.
func command(folder string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "bowline"
	cmd.Env = append(os.Environ(), asServer+"="+dataLimit(maxData), "HOME="+folder, "TMPDIR="+folder, "XDG_STATE_HOME=", "KUBECONFIG=")
	return cmd
}

// startServer starts bowline up with flags, and waits until it serves. It keeps its objects in memory unless the flags
// name a folder.
func startServer(t *testing.T, flags ...string) *server {
	t.Helper()
	return startLimited(t, dataLimit(maxData), flags...)
}

// startLimited is startServer with another limit of the process.
func startLimited(t *testing.T, limit string, flags ...string) *server {
	t.Helper()
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	args := []string{"up", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig}
	if !strings.Contains(strings.Join(flags, " "), "--data") {
		args = append(args, "--ephemeral")
	}
	s := &server{t: t, folder: folder, cmd: command(folder, append(args, flags...)...), exited: make(chan struct{})}
	s.cmd.Env = append(s.cmd.Env, asServer+"="+limit)
	s.cmd.Stderr = &s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	serves := make(chan struct{})
	go func() {
		defer close(s.exited)
		var once sync.Once
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if strings.Contains(lines.Text(), "export KUBECONFIG=") {
				once.Do(func() { close(serves) })
			}
		}
		s.cmd.Wait() // the log has the reason
	}()
	select {
	case <-serves:
	case <-s.exited:
		t.Fatalf("the server ended before it served:\n%s", &s.log)
	case <-time.After(startTime):
		t.Fatalf("the server did not serve within %v:\n%s", startTime, &s.log)
	}
	s.connect(kubeconfig)
	return s
}

// connect creates the client of the administrator, and opens its connection.
func (s *server) connect(kubeconfig string) {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		s.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	s.address = strings.TrimPrefix(config.Host, "https://")
	s.tls = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}}
	s.admin = s.client(s.tls)
	if a := s.send(request{method: http.MethodGet, path: "/livez"}); a.code != http.StatusOK {
		s.t.Fatalf("/livez: %s", a)
	}
}

// client returns a client with connections of its own.
func (s *server) client(config *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true, DisableCompression: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// stranger is a TLS configuration without a certificate.
func (s *server) stranger() *tls.Config { return &tls.Config{RootCAs: s.tls.RootCAs} }

// keep has close called before the server stops.
func (s *server) keep(close func()) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	s.opened = append(s.opened, close)
}

// release closes what is open.
func (s *server) release() {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	for _, close := range s.opened {
		close()
	}
	s.opened = nil
}

// stop sends SIGTERM and waits until the server has ended. It returns what is wrong, if anything.
func (s *server) stop() string {
	select {
	case <-s.exited:
		return "the server ended: " + s.log.head()
	default:
	}
	s.release()
	s.admin.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err.Error()
	}
	select {
	case <-s.exited:
	case <-time.After(stopTime):
		s.kill()
		return fmt.Sprintf("the server did not stop within %v", stopTime)
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "panic") || strings.Contains(line, "fatal error") {
			return "the server panicked: " + line[:min(len(line), 1024)]
		}
	}
	return ""
}

// kill kills the server, and waits until it has ended.
func (s *server) kill() {
	s.cmd.Process.Kill() // fails if the process has ended
	<-s.exited
}

// profile writes a CPU profile of the next seconds to the folder of -profiles.
func (s *server) profile(name string) (wait func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		a := s.sendBy(ctx, s.client(s.tls), request{method: http.MethodGet, path: "/debug/pprof/profile?seconds=5"})
		file := filepath.Join(*profiles, strings.ReplaceAll(name, "/", "-")+".pb.gz")
		if err := os.WriteFile(file, a.body, 0o600); err != nil {
			s.t.Error(err)
		}
	})
	return wg.Wait
}

// logged is the log of a server. It may be read while the server runs.
type logged struct {
	lock sync.Mutex
	text bytes.Buffer
}

var _ io.Writer = (*logged)(nil)

func (l *logged) Write(text []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(text)
}

func (l *logged) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// head returns the first kilobyte of the log, which has the reason of a crash.
func (l *logged) head() string {
	text := l.String()
	return text[:min(len(text), 1024)]
}
