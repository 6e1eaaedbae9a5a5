package connect_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// kubelet is a peer that speaks the streams of a kubelet with its own library. Its containers run commands of the test.
type kubelet struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method, URL and client certificate of each
	// gone is closed when the command "wait" or "flood" has lost its client, and stuck when the client of "flood" has
	// stopped reading.
	gone, stuck chan struct{}
}

// newKubelet starts a kubelet, which issued its own certificate and demands one of the client.
func newKubelet(t *testing.T) *kubelet {
	t.Helper()
	k := &kubelet{gone: make(chan struct{}), stuck: make(chan struct{})}
	mux := http.NewServeMux()
	for path, serve := range map[string]http.HandlerFunc{
		"/exec/{namespace}/{pod}/{container}": k.exec, "/attach/{namespace}/{pod}/{container}": k.attach,
		"/portForward/{namespace}/{pod}": k.portForward, "/containerLogs/{namespace}/{pod}/{container}": k.log,
		"/": k.echo,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			certificate := r.TLS.PeerCertificates[0]
			k.mu.Lock()
			k.requests = append(k.requests, fmt.Sprintf("%s %s by %s of %v", r.Method, r.URL, certificate.Subject.CommonName,
				certificate.Subject.Organization))
			k.mu.Unlock()
			serve(w, r)
		})
	}
	k.Server = httptest.NewUnstartedServer(mux)
	k.Config.ErrorLog = log.New(io.Discard, "", 0)
	k.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	k.StartTLS()
	t.Cleanup(k.Close)
	return k
}

// port returns the port that the kubelet listens on.
func (k *kubelet) port() int32 {
	at, _ := url.Parse(k.URL)
	port, _ := strconv.Atoi(at.Port())
	return int32(port)
}

// last returns the last request.
func (k *kubelet) last() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requests[len(k.requests)-1]
}

func options(r *http.Request) *remotecommand.Options {
	has := func(name string) bool { return r.URL.Query().Get(name) == "1" }
	return &remotecommand.Options{Stdin: has(corev1.ExecStdinParam), Stdout: has(corev1.ExecStdoutParam),
		Stderr: has(corev1.ExecStderrParam), TTY: has(corev1.ExecTTYParam)}
}

func (k *kubelet) exec(w http.ResponseWriter, r *http.Request) {
	remotecommand.ServeExec(w, r, k, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"],
		options(r), time.Minute, time.Minute, remotecommand.SupportedStreamingProtocols)
}

func (k *kubelet) attach(w http.ResponseWriter, r *http.Request) {
	remotecommand.ServeAttach(w, r, k, r.PathValue("pod"), "", r.PathValue("container"), options(r), time.Minute,
		time.Minute, remotecommand.SupportedStreamingProtocols)
}

func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	ports, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, r.PathValue("pod"), "", ports, time.Minute, time.Minute,
		portforward.SupportedProtocols)
}

// ExecInContainer implements remotecommand.Executor.
func (k *kubelet) ExecInContainer(_ context.Context, _, _, container string, cmd []string, in io.Reader,
	out, err io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	switch cmd[0] {
	case "cat": // until its input is closed
		n, _ := io.Copy(out, in)
		fmt.Fprintf(out, "\n%d bytes", n)
	case "both":
		fmt.Fprintf(out, "out of %s %v", container, cmd[1:])
		fmt.Fprint(err, "err")
	case "fail":
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code 3"), Code: 3}
	case "size":
		size := <-resize
		fmt.Fprintf(out, "%dx%d", size.Width, size.Height)
	case "flood": // until its client is gone
		stuck := time.AfterFunc(time.Hour, func() { close(k.stuck) })
		for text := []byte(strings.Repeat("x", 32<<10)); ; {
			stuck.Reset(200 * time.Millisecond)
			if _, err := out.Write(text); err != nil {
				stuck.Stop()
				close(k.gone)
				return err
			}
		}
	case "wait": // until its client is gone
		fmt.Fprint(out, "waiting")
		io.Copy(io.Discard, in)
		close(k.gone)
	}
	return nil
}

// AttachContainer implements remotecommand.Attacher.
func (k *kubelet) AttachContainer(_ context.Context, _, _, container string, in io.Reader, out, _ io.WriteCloser,
	_ bool, _ <-chan remotecommand.TerminalSize) error {
	fmt.Fprintf(out, "attached to %s: ", container)
	if in != nil {
		io.Copy(out, in)
	}
	return nil
}

// PortForward implements portforward.PortForwarder: each port answers four bytes with these
// bytes and its number.
func (k *kubelet) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	line := make([]byte, 4)
	if _, err := io.ReadFull(stream, line); err != nil {
		return err
	}
	fmt.Fprintf(stream, "%s from %d", line, port)
	return stream.Close()
}

// log serves a log, whose container's name selects what goes wrong.
func (k *kubelet) log(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("container") {
	case "moved":
		http.Redirect(w, r, "https://169.254.169.254/secret", http.StatusFound)
	case "starting":
		http.Error(w, `container "starting" is waiting to start`, http.StatusBadRequest)
	default:
		fmt.Fprint(w, "line 1\n")
		if r.URL.Query().Get("follow") == "true" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(k.gone)
		}
	}
}

// echo answers any other request with its method, URL and body.
func (k *kubelet) echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s uri=%s authorization=%q", r.Method, r.URL, body, r.Header.Get("X-Forwarded-Uri"),
		r.Header.Get("Authorization"))
}
