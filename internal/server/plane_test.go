package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

const (
	jsonType      = "application/json"
	yamlType      = "application/yaml"
	protobufType  = "application/vnd.kubernetes.protobuf"
	mergeType     = "application/merge-patch+json"
	jsonPatchType = "application/json-patch+json"
	strategicType = "application/strategic-merge-patch+json"
	applyType     = "application/apply-patch+yaml"

	configMaps  = "/api/v1/namespaces/default/configmaps"
	podsPath    = "/api/v1/namespaces/default/pods"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
)

// testPlane is a plane for one test, with the clients of one of its users.
type testPlane struct {
	*bowline.Plane
	config *rest.Config
	// clients are client-go's typed clients and dynamic the untyped one, with their default settings.
	clients kubernetes.Interface
	dynamic dynamic.Interface
	wire    *http.Client
	host    string
}

// start starts a plane in process, without controllers.
func start(t testing.TB, change ...func(*bowline.Options)) *testPlane {
	t.Helper()
	w := startPlane(t, bowline.Options{Controllers: []string{bowline.NoControllers}}, change)
	w.connect(t, w.RESTConfig())
	return w
}

// startTLS starts a plane with a socket, and connects to it as its administrator.
func startTLS(t testing.TB, change ...func(*bowline.Options)) *testPlane {
	t.Helper()
	w := startPlane(t, bowline.Options{Controllers: []string{bowline.NoControllers}, Listen: "127.0.0.1:0"}, change)
	config, err := w.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	w.connect(t, config)
	return w
}

func startPlane(t testing.TB, o bowline.Options, change []func(*bowline.Options)) *testPlane {
	t.Helper()
	for _, c := range change {
		c(&o)
	}
	plane, err := bowline.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	return &testPlane{Plane: plane}
}

// connect creates the plane's clients from a config.
func (w *testPlane) connect(t testing.TB, config *rest.Config) {
	t.Helper()
	config.WarningHandler = rest.NoWarnings{}
	w.config, w.host = config, config.Host
	w.clients = typed(t, config, "")
	w.dynamic = must(dynamic.NewForConfig(config))(t)
	transport := must(rest.TransportFor(config))(t)
	w.wire = &http.Client{Transport: transport}
	if config.Transport == nil { // over a socket: otherwise the plane waits a second for idle connections
		t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(transport) })
	}
}

// typed returns typed clients with one content type; empty means client-go's default.
func typed(t testing.TB, config *rest.Config, contentType string) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.ContentType = contentType
	return must(kubernetes.NewForConfig(config))(t)
}

// must returns the result of a function, or ends the test on an error: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// response is the answer to a raw request.
type response struct {
	code   int
	header http.Header
	body   []byte
}

// send sends a raw request as the administrator. headers are names and values in turn; the default
// Content-Type is JSON.
func (w *testPlane) send(t testing.TB, method, path, body string, headers ...string) response {
	t.Helper()
	return w.sendBody(t, method, path, strings.NewReader(body), headers...)
}

func (w *testPlane) sendBody(t testing.TB, method, path string, body io.Reader, headers ...string) response {
	t.Helper()
	r, err := w.try(t.Context(), method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// try is send for requests that may fail without an answer, or are sent from another goroutine.
func (w *testPlane) try(ctx context.Context, method, path string, body io.Reader, headers ...string) (response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.host+path, body)
	if err != nil {
		return response{}, err
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", jsonType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.wire.Do(req)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header, data}, err
}

func (w *testPlane) get(t testing.TB, path string, headers ...string) response {
	t.Helper()
	return w.send(t, http.MethodGet, path, "", headers...)
}

// create posts a JSON or YAML body, and ends the test unless it is accepted.
func (w *testPlane) create(t testing.TB, path, body string) map[string]any {
	t.Helper()
	contentType := yamlType
	if strings.HasPrefix(body, "{") {
		contentType = jsonType
	}
	return w.send(t, http.MethodPost, path, body, "Content-Type", contentType).want(t, http.StatusCreated).object(t)
}

// want ends the test unless the answer has the code.
func (r response) want(t testing.TB, code int) response {
	t.Helper()
	if r.code != code {
		t.Fatalf("answered %d, want %d: %s", r.code, code, r.body)
	}
	return r
}

// object decodes a JSON answer.
func (r response) object(t testing.TB) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(r.body, &out); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return out
}

// into decodes a JSON answer into a struct.
func (r response) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
}

// wantError ends the test unless the answer is a Status with the code and reason, and the text in its message.
func (r response) wantError(t testing.TB, code int, reason metav1.StatusReason, text string) metav1.Status {
	t.Helper()
	r.want(t, code)
	var s metav1.Status
	r.into(t, &s)
	if s.Kind != "Status" || s.APIVersion != "v1" || s.Status != metav1.StatusFailure || s.Code != int32(code) ||
		s.Reason != reason {
		t.Errorf("answered %s, want a failure Status %d %s", r.body, code, reason)
	}
	if !strings.Contains(s.Message, text) {
		t.Errorf("message %q, want one with %q", s.Message, text)
	}
	return s
}

// valueAt returns the value at a path of a JSON object, nil if there is none.
func valueAt(object map[string]any, path ...string) any {
	var v any = object
	for _, part := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[part]
	}
	return v
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := 0; i+1 < len(data); i += 2 {
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

// createConfigMaps creates config maps with these names in a namespace.
func (w *testPlane) createConfigMaps(t testing.TB, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		must(w.clients.CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap(name), metav1.CreateOptions{}))(t)
	}
}

func (w *testPlane) namespace(t testing.TB, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(w.clients.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}))(t)
}

// state returns everything in some resources, byte for byte, to test that nothing was written.
func (w *testPlane) state(t testing.TB, paths ...string) string {
	t.Helper()
	var all bytes.Buffer
	for _, path := range paths {
		all.Write(w.get(t, path).want(t, http.StatusOK).body)
	}
	return all.String()
}

// names returns the sorted names in a list; query holds parameter names and values in turn.
func (w *testPlane) names(t testing.TB, path string, query ...string) string {
	t.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	var list metav1.PartialObjectMetadataList
	w.get(t, path+"?"+q.Encode()).want(t, http.StatusOK).into(t, &list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// protobuf encodes an object in Kubernetes' protobuf envelope.
func protobuf(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	return must(runtime.Encode(protobufSerializer(), obj))(t)
}
