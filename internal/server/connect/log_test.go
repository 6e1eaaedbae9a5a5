package connect_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// send sends a request without a body over the socket, and returns the code and message of the answer: that of a
// Status, or its text.
func (w *plane) send(t *testing.T, method, path string, header ...string) (code int, message string) {
	t.Helper()
	transport, err := rest.TransportFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	defer utilnet.CloseIdleConnectionsFor(transport)
	request, err := http.NewRequestWithContext(t.Context(), method, w.config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Kind == "Status" {
		return answer.StatusCode, status.Message
	}
	return answer.StatusCode, string(text)
}

// TestLog reads logs, and the errors of a kubelet that has none.
func TestLog(t *testing.T) {
	t.Parallel()
	k := newKubelet(t)
	w := start(t, k)
	for _, c := range []struct {
		path    string
		code    int
		message string
	}{
		{"one/log", 200, "line 1\n"},
		{"two/log", 400, "a container name must be specified for pod two, choose one of: [a b moved starting]"},
		{"two/log?container=a", 200, "line 1\n"},
		{"two/log?container=starting", 400, "container \"starting\" is waiting to start\n"},
		{"two/log?container=moved", 500, "redirects forbidden"},
		{"unbound/log", 204, ""},
		{"none/log", 404, `pods "none" not found`},
		{"pretended/log", 400, "pod pretended is on the simulated node simulated, which runs no containers: it only sets " +
			"the status of its pods"},
		{"one/log?tailLines=-1", 422, `PodLogOptions "one" is invalid: tailLines: Invalid value: -1: must be greater ` +
			"than or equal to 0"},
		{"one/log?limitBytes=x", 400, `strconv.ParseInt: parsing "x": invalid syntax`},
		{"one/log?sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z", 422, `PodLogOptions "one" is invalid: []: Forbidden: at ` +
			"most one of `sinceTime` or `sinceSeconds` may be specified"},
	} {
		code, message := w.send(t, http.MethodGet, "/api/v1/namespaces/default/pods/"+c.path)
		if code != c.code || message != c.message {
			t.Errorf("%s: %d %q, want %d %q", c.path, code, message, c.code, c.message)
		}
	}
	w.send(t, http.MethodGet, "/api/v1/namespaces/default/pods/one/log?previous=true&timestamps=1&follow=false&"+
		"sinceTime=2026-01-02T03:04:05Z&tailLines=3&limitBytes=4")
	want := "GET /containerLogs/default/one/c?limitBytes=4&previous=true&sinceTime=2026-01-02T03%3A04%3A05Z&tailLines=3&" +
		"timestamps=true by kube-apiserver-kubelet-client of [system:masters]"
	if got := k.last(); got != want {
		t.Errorf("the kubelet received\n%s, want\n%s", got, want)
	}
}

// TestFollowedLog reads a log as it is written, in process and over the socket, and leaves before its end.
func TestFollowedLog(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"socket", "in process"} {
		k := newKubelet(t)
		w := start(t, k)
		clients := w.clients
		if way == "socket" {
			clients = w.overSocket(t)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := clients.CoreV1().Pods("default").GetLogs("one", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stream).ReadString('\n'); err != nil || line != "line 1\n" {
			t.Errorf("%s: the first line is %q (%v)", way, line, err)
		}
		cancel()
		<-k.gone
		stream.Close()
	}
}

// TestKubeletIsVerified checks that RootCAs verify kubelets, unless the client of a log asks for no verification.
func TestKubeletIsVerified(t *testing.T) {
	t.Parallel()
	k := newKubelet(t)
	w := start(t, k, verifies)
	const log = "/api/v1/namespaces/default/pods/one/log"
	if code, text := w.send(t, http.MethodGet, log); code != 500 || !strings.Contains(text, "certificate") {
		t.Errorf("the log of an unknown kubelet: %d %q, want an error about its certificate", code, text)
	}
	if code, text := w.send(t, http.MethodGet, log+"?insecureSkipTLSVerifyBackend=true"); code != 200 {
		t.Errorf("without verification: %d %q", code, text)
	}
}
