package connect_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// network is a server whose connections to other machines reach listeners of the test.
type network struct {
	*httptest.Server
	mu     sync.Mutex
	hosts  map[string]string // addresses, and those of the listeners in their place
	dialed []string
}

// administrator authenticates every request, as an administrator.
type administrator struct{}

// Authenticate implements auth.Authenticator.
func (administrator) Authenticate(*http.Request) (*auth.User, bool, error) {
	return auth.NewUser("admin", auth.AdminGroup), true, nil
}

func newNetwork(t *testing.T, hosts map[string]string, plugins ...admission.Plugin) *network {
	t.Helper()
	n := &network{hosts: hosts}
	state, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(t.Context(), server.Options{
		Store: state, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...),
		Authenticator: administrator{}, Authorizer: auth.Admins(), Plugins: plugins, Kubelet: keys.KubeletConfig(),
		Dial: n.dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Server = httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		n.Server.Close()
		srv.Close()
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	n.mu.Unlock()
	to, known := n.hosts[address]
	if !known {
		return nil, errors.New("no route to " + address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, to)
}

// send sends a request, and returns the answer without following redirects, and its text.
func (n *network) send(t *testing.T, method, path, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	answer, err := n.Client().Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func (n *network) create(t *testing.T, path, document string) {
	t.Helper()
	if answer, text := n.send(t, http.MethodPost, path, document); answer.StatusCode != http.StatusCreated {
		t.Fatalf("creating %s: %s", document, text)
	}
}

const ns = "/api/v1/namespaces/default"

// addPods creates a pod, with an address where it has one.
func (n *network) addPod(t *testing.T, name, ip, port string) {
	t.Helper()
	n.addPodOn(t, "", name, ip, port)
}

func (n *network) addPodOn(t *testing.T, node, name, ip, port string) {
	t.Helper()
	n.create(t, ns+"/pods", `{"metadata":{"name":"`+name+`"},"spec":{"nodeName":"`+node+`","containers":[{"name":"c","image":"i","ports":[`+
		port+`]}]}}`)
	answer, text := n.send(t, http.MethodPut, ns+"/pods/"+name+"/status", `{"metadata":{"name":"`+name+`"},"spec":
		{"nodeName":"`+node+`","containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running","podIP":"`+ip+`","podIPs":[{"ip":"`+ip+`"}]}}`)
	if answer.StatusCode != http.StatusOK {
		t.Fatal(text)
	}
}

// echo answers with the request, and redirects the path /away.
func echo(w http.ResponseWriter, r *http.Request) {
	switch to := r.URL.Query().Get("to"); {
	case strings.HasPrefix(r.URL.Path, "/away"):
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	case r.Header.Get("Upgrade") == "echo":
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		io.Copy(conn, buffered)
	default:
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s uri=%s authorization=%s", r.Method, r.URL, body, r.Header.Get("X-Forwarded-Uri"),
			r.Header.Get("Authorization"))
	}
}

func newNetworkOfPods(t *testing.T, plugins ...admission.Plugin) *network {
	t.Helper()
	pod := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(pod.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(secure.Close)
	n := newNetwork(t, map[string]string{"10.0.0.5:8080": pod.Listener.Addr().String(),
		"10.0.0.5:443": secure.Listener.Addr().String(), "10.0.0.9:9100": pod.Listener.Addr().String()}, plugins...)
	n.create(t, "/api/v1/namespaces", `{"metadata":{"name":"default"}}`)
	n.addPod(t, "web", "10.0.0.5", `{"containerPort":8080}`)
	n.addPod(t, "bare", "10.0.0.6", "")
	n.addPod(t, "loopback", "127.0.0.1", `{"containerPort":8080}`)
	n.addPod(t, "metadata", "169.254.169.254", `{"containerPort":80}`)
	n.create(t, "/api/v1/nodes", `{"metadata":{"name":"simulated"},"status":{"nodeInfo":
		{"containerRuntimeVersion":"simulated://"}}}`)
	n.addPodOn(t, "simulated", "pretended", "10.9.0.7", `{"containerPort":8080}`)
	n.create(t, ns+"/pods", `{"metadata":{"name":"new"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	n.create(t, ns+"/services", `{"metadata":{"name":"web"},"spec":{"ports":[{"name":"http","port":80},
		{"name":"https","port":443}]}}`)
	for name, endpoint := range map[string]string{
		"web":       `{"addresses":["10.0.0.5"],"targetRef":{"kind":"Pod","namespace":"default","name":"web"}}`,
		"forged":    `{"addresses":["10.9.9.9"],"targetRef":{"kind":"Pod","namespace":"default","name":"web"}}`,
		"manual":    `{"addresses":["10.9.9.9"]}`,
		"pretended": `{"addresses":["10.9.0.7"],"targetRef":{"kind":"Pod","namespace":"default","name":"pretended"}}`,
		"unready":   `{"addresses":["10.0.0.5"],"conditions":{"ready":false},"targetRef":{"kind":"Pod","namespace":"default","name":"web"}}`,
	} {
		n.create(t, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", `{"metadata":{"name":"`+name+
			`","labels":{"kubernetes.io/service-name":"`+name+`"}},"addressType":"IPv4","endpoints":[`+endpoint+
			`],"ports":[{"name":"http","port":8080},{"name":"https","port":443}]}`)
	}
	return n
}

// TestProxy forwards requests to pods and services.
func TestProxy(t *testing.T) {
	t.Parallel()
	n := newNetworkOfPods(t)
	for _, c := range []struct {
		method, path string
		code         int
		text         string // "" for any
	}{
		{"GET", "/pods/web/proxy/a/b?x=1&y=%20", 200, "GET /a/b?x=1&y=%20  uri=" + ns + "/pods/web/proxy/a/b authorization="},
		{"POST", "/pods/web:8080/proxy/a/", 200, "POST /a/ body uri=" + ns + "/pods/web:8080/proxy/a/ authorization="},
		{"PUT", "/pods/http:web:8080/proxy/", 200, "PUT / body uri=" + ns + "/pods/http:web:8080/proxy/ authorization="},
		{"PATCH", "/pods/https:web:443/proxy/a/../b", 200, ""},
		{"DELETE", "/pods/web/proxy", 200, "DELETE / body uri=" + ns + "/pods/web/proxy authorization="},
		{"OPTIONS", "/pods/web/proxy/o", 200, "OPTIONS /o body uri=" + ns + "/pods/web/proxy/o authorization="},
		{"GET", "/pods/web/proxy/a?watch=true&timeout=1s", 200, ""},
		{"GET", "/services/web:http/proxy/a", 200, "GET /a  uri=" + ns + "/services/web:http/proxy/a authorization="},
		{"GET", "/services/web:80/proxy/a", 200, ""},
		{"GET", "/services/https:web:https/proxy/a", 200, ""},
		{"GET", "/services/web/proxy/", 503, `no endpoints available for service "web"`}, // its ports have names
		{"GET", "/services/web:81/proxy/", 503, `no service port 81 found for service "web"`},
		{"GET", "/services/none:80/proxy/", 404, `services "none" not found`},
		{"GET", "/services/forged:http/proxy/", 503, `no endpoints available for service "forged"`},
		{"GET", "/services/manual:http/proxy/", 503, `no endpoints available for service "manual"`},
		{"GET", "/services/unready:http/proxy/", 503, `no endpoints available for service "unready"`},
		{"GET", "/services/pretended:http/proxy/", 400, "pod pretended is on the simulated node simulated"},
		{"GET", "/pods/pretended/proxy/", 400, "pod pretended is on the simulated node simulated"},
		{"GET", "/pods/loopback/proxy/", 400, "address not allowed"},
		{"GET", "/pods/metadata/proxy/", 400, "address not allowed"},
		{"GET", "/pods/new/proxy/", 400, "address not allowed"},
		{"GET", "/pods/none/proxy/", 404, `pods "none" not found`},
		{"GET", "/pods/ftp:web:1/proxy/", 400, `invalid pod request \"ftp:web:1\"`},
		{"GET", "/pods/bare/proxy/", 503, "error trying to reach service: no route to 10.0.0.6:80"},
		{"GET", "/pods/web:1/proxy/", 503, "error trying to reach service: no route to 10.0.0.5:1"},
		{"CONNECT", "/pods/web/proxy/a", 405, ""},
	} {
		body := "body"
		if c.method == "GET" {
			body = ""
		}
		answer, text := n.send(t, c.method, ns+c.path, body)
		if answer.StatusCode != c.code || c.code == 200 && c.text != "" && text != c.text ||
			!strings.Contains(strings.ReplaceAll(text, `\"`, `"`), strings.ReplaceAll(c.text, `\"`, `"`)) {
			t.Errorf("%s %s: %s %s, want %d %s", c.method, c.path, answer.Status, text, c.code, c.text)
		}
	}
	if answer, text := n.send(t, http.MethodHead, ns+"/pods/web/proxy/a", ""); answer.StatusCode != 200 || text != "" {
		t.Errorf("HEAD: %s %s", answer.Status, text)
	}
	if slices.ContainsFunc(n.dialed, func(to string) bool { return strings.HasPrefix(to, "10.9.") || to[0] != '1' }) {
		t.Errorf("the server connected to %q", n.dialed)
	}
}

// TestEarlyHints checks that the server passes a response of status 103 on without ending the client's upload. It
// uses a connection over TLS, on which the server otherwise discards the rest of a body before it answers.
func TestEarlyHints(t *testing.T) {
	t.Parallel()
	hinted := make(chan struct{})
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		received, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, received, err)
	}))
	t.Cleanup(pod.Close)
	n := newNetwork(t, map[string]string{"10.0.0.5:80": pod.Listener.Addr().String()})
	n.create(t, "/api/v1/namespaces", `{"metadata":{"name":"default"}}`)
	n.addPod(t, "web", "10.0.0.5", "")
	secure := httptest.NewTLSServer(n.Config.Handler)
	t.Cleanup(secure.Close)
	body, upload := io.Pipe()
	go func() {
		upload.Write([]byte("first"))
		<-hinted
		upload.Write([]byte("second"))
		upload.Close()
	}()
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
		close(hinted)
		return nil
	}}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost,
		secure.URL+ns+"/pods/web/proxy/", body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := secure.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); string(text) != "11 <nil>" || err != nil {
		t.Errorf("the pod received %s, %v", text, err)
	}
}

// TestProxiedRedirects checks that redirects to the same machine lead through the server, and that none is followed.
func TestProxiedRedirects(t *testing.T) {
	t.Parallel()
	n := newNetworkOfPods(t)
	for to, want := range map[string]string{
		"/b?c=d":                       ns + "/pods/web/proxy/b?c=d",
		"http://10.0.0.5:8080/b/":      ns + "/pods/web/proxy/b/",
		"b":                            "b",
		"http://169.254.169.254/token": "http://169.254.169.254/token",
	} {
		answer, _ := n.send(t, http.MethodGet, ns+"/pods/web/proxy/away?to="+url.QueryEscape(to), "")
		if got := answer.Header.Get("Location"); answer.StatusCode != http.StatusFound || got != want {
			t.Errorf("a redirect to %s: %s to %s, want to %s", to, answer.Status, got, want)
		}
	}
	answer, _ := n.send(t, http.MethodGet, ns+"/pods/web/proxy?a=b", "")
	if got, want := answer.Header.Get("Location"), ns+"/pods/web/proxy/?a=b"; answer.StatusCode != 301 || got != want {
		t.Errorf("a proxy without a path: %s to %s, want 301 to %s", answer.Status, got, want)
	}
}

// TestProxiedUpgrade forwards another protocol to a pod, whose end ends when the client's does.
func TestProxiedUpgrade(t *testing.T) {
	t.Parallel()
	n := newNetworkOfPods(t)
	conn, err := net.Dial("tcp", n.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/pods/web/proxy/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ",
		ns)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols || answer.Header.Get("Upgrade") != "echo" {
		t.Fatalf("the answer is %v (%v)", answer, err)
	}
	io.WriteString(conn, "later")
	got := make([]byte, len("early later"))
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != "early later" {
		t.Errorf("the pod sent back %q (%v)", got, err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("after the client's end, it received %q (%v)", rest, err)
	}
}

// TestNodeProxy forwards requests to a kubelet, and to another port of a node.
func TestNodeProxy(t *testing.T) {
	t.Parallel()
	k := newKubelet(t)
	n := newNetworkOfPods(t)
	n.hosts["10.0.0.9:10250"] = k.Listener.Addr().String()
	for name, status := range map[string]string{
		"real":     `{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}`,
		"loopback": `{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}`,
	} {
		n.create(t, "/api/v1/nodes", `{"metadata":{"name":"`+name+`"},"status":`+status+`}`)
	}
	for _, c := range []struct {
		path string
		code int
		text string
	}{
		{"real/proxy/healthz?a=b", 200, "GET /healthz?a=b "},
		{"real:10250/proxy/pods/", 200, "GET /pods/ "},
		{"real:9100/proxy/metrics", 200, "GET /metrics "},
		{"loopback/proxy/healthz", 400, "address not allowed"},
		{"simulated/proxy/healthz", 400, "node simulated is simulated: it has no kubelet and runs no containers"},
		{"none/proxy/healthz", 404, `nodes \"none\" not found`},
	} {
		if answer, text := n.send(t, "GET", "/api/v1/nodes/"+c.path, ""); answer.StatusCode != c.code ||
			!strings.Contains(text, c.text) {
			t.Errorf("%s: %s %s, want %d %s", c.path, answer.Status, text, c.code, c.text)
		}
	}
}

// watcher is a plugin that records connections, changes the path of one, and rejects another.
type watcher struct{ seen chan string }

func (watcher) Name() string { return "Watcher" }

func (watcher) Handles(op admission.Operation, _ schema.GroupResource, _ string) bool {
	return op == admission.Connect
}

func (w watcher) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	content := a.Object.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()
	w.seen <- fmt.Sprintf("%s %s %s/%s %s/%s %v", a.Operation, a.Kind.Kind, a.Resource.Resource, a.Subresource, a.Namespace,
		a.Name, content)
	if content["path"] == "/old" {
		content["path"] = "/new"
	}
	return nil
}

func (watcher) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	if a.Subresource == "exec" {
		return a.Forbidden("no commands")
	}
	return nil
}

// TestConnectionsAreAdmitted checks that plugins see, change and reject the options of connections.
func TestConnectionsAreAdmitted(t *testing.T) {
	t.Parallel()
	w := watcher{make(chan string, 1)}
	n := newNetworkOfPods(t, w)
	if _, text := n.send(t, "PUT", ns+"/pods/web/proxy/old", ""); !strings.HasPrefix(text, "PUT /new ") {
		t.Errorf("the pod received %s, want the path of the plugin", text)
	}
	want := "CONNECT PodProxyOptions pods/proxy default/web map[apiVersion:v1 kind:PodProxyOptions path:/old]"
	if got := <-w.seen; got != want {
		t.Errorf("the plugin saw\n%s, want\n%s", got, want)
	}
	answer, text := n.send(t, "GET", ns+"/pods/web/exec?command=a&command=b&tty=1&stdin=false", "")
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(text, `pods \"web\" is forbidden: no commands`) {
		t.Errorf("exec: %s %s, want the error of the plugin", answer.Status, text)
	}
	want = "CONNECT PodExecOptions pods/exec default/web map[apiVersion:v1 command:[a b] kind:PodExecOptions tty:true]"
	if got := <-w.seen; got != want {
		t.Errorf("the plugin saw\n%s, want\n%s", got, want)
	}
}
