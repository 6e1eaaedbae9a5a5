package connect_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// protocols are the ways in which client-go opens streams.
var protocols = map[string]func(w *plane, to *url.URL) (remotecommand.Executor, error){
	"SPDY": func(w *plane, to *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(w.config, http.MethodPost, to)
	},
	"WebSocket": func(w *plane, to *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(w.config, http.MethodGet, to.String())
	},
	"WebSocket of version 4": func(w *plane, to *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutorForProtocols(w.config, http.MethodGet, to.String(), "v4.channel.k8s.io")
	},
}

// stream runs an exec or attach.
func (w *plane) stream(ctx context.Context, protocol, pod, sub string, options any,
	o remotecommand.StreamOptions) error {
	client, err := corev1client.NewForConfig(w.config)
	if err != nil {
		return err
	}
	request := client.RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource(sub)
	switch options := options.(type) {
	case *corev1.PodExecOptions:
		request.VersionedParams(options, scheme.ParameterCodec)
	case *corev1.PodAttachOptions:
		request.VersionedParams(options, scheme.ParameterCodec)
	}
	executor, err := protocols[protocol](w, request.URL())
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, o)
}

// TestExec runs commands with each protocol of the clients.
func TestExec(t *testing.T) {
	t.Parallel()
	k := newKubelet(t)
	w := start(t, k)
	long := strings.Repeat("0123456789", 100_000)
	for protocol := range protocols {
		run := func(in string, o corev1.PodExecOptions) (out, stderr string, err error) {
			var stdout, errors bytes.Buffer
			streams := remotecommand.StreamOptions{Stdout: &stdout, Tty: o.TTY}
			if o.Stdout = true; o.Stdin {
				streams.Stdin = strings.NewReader(in)
			}
			if o.Stderr {
				streams.Stderr = &errors
			}
			if o.TTY {
				streams.TerminalSizeQueue = &sizes{remotecommand.TerminalSize{Width: 80, Height: 24}}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = w.stream(ctx, protocol, "one", "exec", &o, streams)
			return stdout.String(), errors.String(), err
		}
		if out, stderr, err := run("", corev1.PodExecOptions{Stderr: true, Command: []string{"both", "a b", "c&d=e"}}); err !=
			nil || out != "out of c [a b c&d=e]" || stderr != "err" {
			t.Errorf("%s: output %q, errors %q (%v)", protocol, out, stderr, err)
		}
		if protocol != "WebSocket of version 4" { // which cannot close stdin
			out, _, err := run(long, corev1.PodExecOptions{Stdin: true, Command: []string{"cat"}})
			if want := fmt.Sprintf("%s\n%d bytes", long, len(long)); err != nil || out != want {
				t.Errorf("%s: cat printed %d bytes, want %d (%v)", protocol, len(out), len(want), err)
			}
		}
		if out, _, err := run("", corev1.PodExecOptions{TTY: true, Command: []string{"size"}}); err != nil || out != "80x24" {
			t.Errorf("%s: the size of the terminal is %q, want 80x24 (%v)", protocol, out, err)
		}
		_, _, err := run("", corev1.PodExecOptions{Command: []string{"fail"}})
		var exit exec.CodeExitError
		if !errors.As(err, &exit) || exit.Code != 3 {
			t.Errorf("%s: a command that fails with code 3: %v", protocol, err)
		}
		if want := " by kube-apiserver-kubelet-client of [system:masters]"; !strings.HasSuffix(k.last(), want) {
			t.Errorf("%s: the kubelet received %s, want %s", protocol, k.last(), want)
		}
	}
}

// sizes delivers one size.
type sizes []remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(*s) == 0 {
		return nil
	}
	first := (*s)[0]
	*s = (*s)[1:]
	return &first
}

// TestAttach attaches to the named container with each protocol that can close stdin.
func TestAttach(t *testing.T) {
	t.Parallel()
	w := start(t, newKubelet(t))
	for _, protocol := range []string{"SPDY", "WebSocket"} {
		var out bytes.Buffer
		err := w.stream(t.Context(), protocol, "two", "attach",
			&corev1.PodAttachOptions{Container: "b", Stdin: true, Stdout: true},
			remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &out})
		if err != nil || out.String() != "attached to b: hello" {
			t.Errorf("%s: attach printed %q (%v)", protocol, out.String(), err)
		}
	}
}

// TestEndsOfStreams lets a client disconnect from a command that waits for it, or writes more than it reads, and
// closes the server under it.
func TestEndsOfStreams(t *testing.T) {
	t.Parallel()
	for protocol := range protocols {
		for _, command := range []string{"wait", "flood"} {
			for _, end := range []string{"client", "server"} {
				t.Run(protocol+" "+command+" "+end, func(t *testing.T) {
					t.Parallel()
					k := newKubelet(t)
					w := start(t, k)
					started, never := make(signal, 1), make(chan struct{})
					input, _ := io.Pipe() // never written to
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() {
						ended <- w.stream(ctx, protocol, "one", "exec",
							&corev1.PodExecOptions{Stdin: true, Stdout: true, Command: []string{command}},
							remotecommand.StreamOptions{Stdin: input, Stdout: slow{started, never}})
					}()
					<-started
					if end == "client" {
						cancel()
					} else if err := w.Close(); err != nil {
						t.Errorf("closing the plane: %v", err)
					}
					<-k.gone
					cancel()
					close(never)
					input.Close()
					<-ended
				})
			}
		}
	}
}

// TestClientsThatDoNotRead closes the server under a client that has stopped reading the output of a command.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	k := newKubelet(t)
	w := start(t, k)
	config, err := rest.TLSConfigFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"http/1.1"}
	host := strings.TrimPrefix(w.config.Host, "https://")
	client, err := tls.Dial("tcp", host, config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprintf(client, "GET /api/v1/namespaces/default/pods/one/exec?command=flood&stdout=1 HTTP/1.1\r\nHost: %s\r\n"+
		"Origin: https://%[1]s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n", host)
	answer, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer, err)
	}
	<-k.stuck
	if err := w.Close(); err != nil {
		t.Errorf("closing the plane: %v", err)
	}
	<-k.gone
}

type signal chan struct{}

// slow is an output that blocks at its first write, after it has sent started.
type slow struct {
	started signal
	until   chan struct{}
}

// Write implements io.Writer.
func (s slow) Write(p []byte) (int, error) {
	select {
	case s.started <- struct{}{}:
	default:
	}
	<-s.until
	return len(p), nil
}

// TestPortForward forwards ports through SPDY and through the tunnel in a WebSocket.
func TestPortForward(t *testing.T) {
	t.Parallel()
	w := start(t, newKubelet(t))
	to, err := url.Parse(w.config.Host + "/api/v1/namespaces/default/pods/one/portforward")
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, w.config)
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{
		"SPDY":      spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to),
		"WebSocket": tunnel,
	} {
		conn, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		if err != nil || protocol != portforward.PortForwardProtocolV1Name {
			t.Errorf("%s: the protocol is %q (%v)", name, protocol, err)
			continue
		}
		for id, port := range []string{"80", "443", "80"} { // several streams of one connection
			open := func(kind string) httpstream.Stream {
				stream, err := conn.CreateStream(http.Header{corev1.StreamType: {kind}, corev1.PortHeader: {port},
					corev1.PortForwardRequestIDHeader: {fmt.Sprint(id)}})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return stream
			}
			open(corev1.StreamTypeError).Close()
			data := open(corev1.StreamTypeData)
			io.WriteString(data, "ping")
			if got, err := io.ReadAll(data); err != nil || string(got) != "ping from "+port {
				t.Errorf("%s: the port %s answers %q (%v)", name, port, got, err)
			}
		}
		conn.Close()
	}
}

// TestRefusedStreams checks the answers to requests for streams that cannot be opened.
func TestRefusedStreams(t *testing.T) {
	t.Parallel()
	k := newKubelet(t)
	w := start(t, k)
	for _, c := range []struct{ path, code, message string }{
		{"two/exec?command=x&stdout=true", "400",
			"a container name must be specified for pod two, choose one of: [a b moved starting]"},
		{"two/exec?container=x", "400", "container x is not valid for pod two"},
		{"two/attach", "400", "a container name must be specified for pod two, choose one of: [a b moved starting]"},
		{"unbound/exec", "400", "pod unbound does not have a host assigned"},
		{"unbound/portforward", "400", "pod unbound does not have a host assigned"},
		{"none/exec", "404", `pods "none" not found`},
		{"one/exec", "400", "Upgrade request required"},
		{"one/portforward?ports=x", "400", `strconv.ParseInt: parsing "x": invalid syntax`},
		{"pretended/exec", "400", "pod pretended is on the simulated node simulated, which runs no containers: " +
			"it only sets the status of its pods"},
		{"pretended/attach", "400", "pod pretended is on the simulated node simulated, which runs no containers: " +
			"it only sets the status of its pods"},
		{"pretended/portforward", "400", "pod pretended is on the simulated node simulated, which runs no containers: " +
			"it only sets the status of its pods"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			code, message := w.send(t, method, "/api/v1/namespaces/default/pods/"+c.path)
			if fmt.Sprint(code) != c.code || message != c.message {
				t.Errorf("%s %s: %d %q, want %s %q", method, c.path, code, message, c.code, c.message)
			}
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		if code, _ := w.send(t, method, "/api/v1/namespaces/default/pods/one/exec"); code != http.StatusMethodNotAllowed {
			t.Errorf("%s of an exec: %d, want 405", method, code)
		}
	}
	if code, _ := w.send(t, http.MethodGet, "/api/v1/namespaces/default/pods/one/exec/below"); code != http.StatusNotFound {
		t.Errorf("a path below exec: %d, want 404", code)
	}
	if len(k.requests) > 0 {
		t.Errorf("the kubelet received %q", slices.Compact(k.requests))
	}
	w.addNode(t, "down", corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: "InternalIP", Address: "127.0.0.1"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 1}}})
	w.addNode(t, "nowhere", corev1.NodeStatus{})
	w.addPod(t, "on-down", "down", "c")
	w.addPod(t, "on-nowhere", "nowhere", "c")
	w.addPod(t, "on-none", "none", "c")
	for pod, want := range map[string]string{"on-down": "connection refused", "on-none": `pods "none" not found`,
		"on-nowhere": "no preferred addresses found; known addresses: []"} {
		err := w.stream(t.Context(), "SPDY", pod, "exec", &corev1.PodExecOptions{Stdout: true, Command: []string{"both"}},
			remotecommand.StreamOptions{Stdout: io.Discard})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("exec in the pod %s: %v, want %s", pod, err, want)
		}
	}
	in := w.RESTConfig()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost,
		in.Host+"/api/v1/namespaces/default/pods/one/exec?command=x&stdout=true", nil)
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "SPDY/3.1")
	answer, err := in.Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	if want := "needs a connection of its own"; answer.StatusCode != http.StatusBadRequest ||
		!strings.Contains(string(text), want) {
		t.Errorf("exec in process: %s %s, want 400 with %s", answer.Status, text, want)
	}
}
