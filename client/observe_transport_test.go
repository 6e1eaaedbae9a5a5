package client_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// A dynamic client, our client, and one that requests tables, with a server below a path. Each observer is called once
// per write.
func TestObserveSupportsAllClients(t *testing.T) {
	t.Parallel()
	plane := startPlane(t)
	config := plane.RESTConfig()
	config.Host += "/clusters/api/one"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return stripped{next} })
	config = client.Observed(config)
	ctx, inner := written(t)
	var outer int
	ctx = client.Observe(ctx, func(client.Write) { outer++ })

	untyped := &unstructured.Unstructured{}
	untyped.SetName("dynamic")
	untyped.SetKind("ConfigMap")
	untyped.SetAPIVersion("v1")
	if _, err := dynamic.NewForConfigOrDie(config).Resource(configmaps).Namespace("default").Create(ctx, untyped,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ours, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ours", Namespace: "default"}}
	if _, err := client.Of[*corev1.ConfigMap](ours, configmaps).Create(ctx, a, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err = ours.REST().Post().AbsPath("/api/v1/namespaces/default/configmaps").SetHeader("Accept",
		"application/json;as=Table;v=v1;g=meta.k8s.io").
		SetHeader("Content-Type", "application/json").
		Body([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"table"}}`)).Do(ctx).Error()
	if err != nil {
		t.Fatal(err)
	}
	if outer != 3 || len(*inner) != 3 {
		t.Fatalf("got %d and %d writes of the two observers, want 3", outer, len(*inner))
	}
	for i, name := range []string{"dynamic", "ours", "table"} {
		if w := (*inner)[i]; w.Name != name || w.Namespace != "default" || w.UID == "" || w.Revision == 0 ||
			w.Status != 201 {
			t.Errorf("got %+v", w)
		}
	}
}

// stripped is a proxy in front of a server that removes its own path.
type stripped struct{ next http.RoundTripper }

func (s stripped) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.URL.Path = strings.TrimPrefix(q.URL.Path, "/clusters/api/one")
	return s.next.RoundTrip(q)
}

func TestObserveIgnoresStreamsAndOtherCalls(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-release
	}))
	t.Cleanup(transport.Close)
	httpClient, err := rest.HTTPClientFor(client.Observed(transport.RESTConfig()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	observed := client.Observe(ctx, func(w client.Write) { t.Errorf("unexpected write %+v", w) })
	for path, ctx := range map[string]context.Context{
		"/api/v1/namespaces/ns/pods/p/exec": observed,
		"/metrics":                          observed,
		"/api/v1/namespaces/ns/pods":        ctx,
	} {
		q, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://bowline.in-process"+path, nil)
		answer, err := httpClient.Do(q) // would wait for the end of the body if it were read
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
	}
	close(release)
}

// The caller receives a truncated response unchanged, in CBOR as in any other form.
func TestObserveDoesNotChangeResponses(t *testing.T) {
	t.Parallel()
	body, err := direct.Marshal(map[string]any{"kind": "ConfigMap",
		"metadata": map[string]any{"name": "a", "uid": "u", "resourceVersion": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	var length string
	transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/cbor")
		w.Header().Set("Content-Length", length)
		w.Write(body)
	}))
	t.Cleanup(transport.Close)
	httpClient, err := rest.HTTPClientFor(client.Observed(transport.RESTConfig()))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		length string
		err    error
		want   client.Write
	}{
		{strconv.Itoa(len(body)), nil, client.Write{UID: "u", Revision: 7}},
		{"1000", io.ErrUnexpectedEOF, client.Write{Err: io.ErrUnexpectedEOF.Error()}},
	} {
		length = test.length
		ctx, writes := written(t)
		q, _ := http.NewRequestWithContext(ctx, http.MethodPut,
			"http://bowline.in-process/api/v1/namespaces/ns/configmaps/a", nil)
		answer, err := httpClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		if string(got) != string(body) || err != test.err {
			t.Errorf("got %d of %d bytes and error %v, want %v", len(got), len(body), err, test.err)
		}
		answer.Body.Close()
		want := test.want
		want.Verb, want.Resource, want.Namespace, want.Name, want.Status = "update", configmaps, "ns", "a", 200
		if diff := cmp.Diff([]client.Write{want}, *writes, anywhere); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Requests without an observer allocate nothing more.
func TestUnobservedCallsDoNotAllocate(t *testing.T) {
	config := client.Observed(&rest.Config{Host: "http://test"})
	through := config.WrapTransport(lost{})
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://test/api/v1/namespaces/default/configmaps", nil)
	if err != nil {
		t.Fatal(err)
	}
	allocations := func(rt http.RoundTripper) float64 {
		return testing.AllocsPerRun(100, func() { rt.RoundTrip(q) })
	}
	if with, without := allocations(through), allocations(lost{}); with != without {
		t.Errorf("got %v allocations, want %v as without the transport", with, without)
	}
}
