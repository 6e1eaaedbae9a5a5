package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

var configmaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// connect returns a client of a server with the given handler.
func connect(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	transport := inprocess.NewTransport(h)
	t.Cleanup(transport.Close)
	c, err := client.New(transport.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer writes a JSON body.
func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func TestResourceRequests(t *testing.T) {
	t.Parallel()
	var seen string
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, legible(t, r, body)))
		answer(w, 200,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"7"}}`)
	})
	maps := client.Of[*corev1.ConfigMap](c, configmaps)
	widgets := client.Of[*unstructured.Unstructured](c,
		schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"}, Data: map[string]string{"k": "v"}}
	ctx := t.Context()
	const sent = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"},"data":{"k":"v"}}`
	for _, test := range []struct {
		want string
		do   func() error
	}{
		{"GET /api/v1/namespaces/ns/configmaps/a", func() error { return second(maps.Get(ctx, "ns", "a")) }},
		{"GET /apis/example.com/v1/widgets/a", func() error { return second(widgets.Get(ctx, "", "a")) }},
		{"POST /api/v1/namespaces/ns/configmaps?dryRun=All " + sent, func() error {
			return second(maps.Create(ctx, a, metav1.CreateOptions{DryRun: []string{"All"}}))
		}},
		{"PUT /api/v1/namespaces/ns/configmaps/a " + sent, func() error {
			return second(maps.Update(ctx, a, metav1.UpdateOptions{}))
		}},
		{"PUT /api/v1/namespaces/ns/configmaps/a/status " + sent, func() error {
			return second(maps.UpdateStatus(ctx, a, metav1.UpdateOptions{}))
		}},
		{"PATCH /api/v1/namespaces/ns/configmaps/a/status {}", func() error {
			return second(maps.Patch(ctx, "ns", "a", "status", types.MergePatchType, []byte("{}"),
				metav1.PatchOptions{}))
		}},
		{`DELETE /api/v1/namespaces/ns/configmaps/a {"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`,
			func() error {
				return maps.Delete(ctx, "ns", "a", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			}},
		{`DELETE /api/v1/namespaces/ns/configmaps?labelSelector=a%3Db {"kind":"DeleteOptions","apiVersion":"v1"}`,
			func() error {
				return maps.DeleteCollection(ctx, "ns", metav1.DeleteOptions{},
					metav1.ListOptions{LabelSelector: "a=b"})
			}},
	} {
		if err := test.do(); err != nil {
			t.Errorf("%s: got error %v", test.want, err)
		}
		if seen != test.want {
			t.Errorf("got request\n%s, want\n%s", seen, test.want)
		}
	}
	if a.Kind != "" {
		t.Error("writing an object modified it")
	}
	if err := maps.Delete(ctx, "ns", "", metav1.DeleteOptions{}); err == nil {
		t.Error("deleting an object without a name returned no error: it would delete the collection")
	}
}

// legible returns the JSON of a config map in a request, in whichever form it was sent.
func legible(t *testing.T, r *http.Request, body []byte) string {
	if r.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
		return string(body)
	}
	obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		t.Errorf("%s %s: %v", r.Method, r.RequestURI, err)
		return ""
	}
	obj.GetObjectKind().SetGroupVersionKind(*kind)
	text, err := json.Marshal(obj)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestErrorsAreStatusErrors(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		status := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", fmt.Errorf("it was changed"))
		body, _ := json.Marshal(struct {
			metav1.TypeMeta
			metav1.Status
		}{metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, status.ErrStatus})
		answer(w, 409, string(body))
	})
	_, err := client.Of[*corev1.ConfigMap](c, configmaps).Get(t.Context(), "ns", "a")
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "it was changed") {
		t.Errorf("got %v", err)
	}
}

const twoMaps = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
 {"metadata":{"name":"a","namespace":"ns","uid":"u1","resourceVersion":"7","labels":{"l":"x"},"ownerReferences":[{"uid":"o1"}]},"data":{"k":"v"}},
 {"metadata":{"name":"b","namespace":"ns","uid":"u2","resourceVersion":"8"}}]}`

func TestTypedListItemsHaveKind(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, twoMaps) })
	typed, err := client.Of[*corev1.ConfigMap](c, configmaps).List(t.Context(), "ns", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if typed.ResourceVersion != "9" || len(typed.Items) != 2 || typed.Items[0].Data["k"] != "v" {
		t.Errorf("got %+v", typed)
	}
	untyped, err := client.Of[*unstructured.Unstructured](c, configmaps).List(t.Context(), "ns", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := untyped.Items[1].GroupVersionKind().String(); got != "/v1, Kind=ConfigMap" {
		t.Errorf("got item %s", got)
	}
}

func TestWatchYieldsEventsAndFinalError(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			t.Errorf("got the request %s, want a watch", r.RequestURI)
		}
		answer(w, 200,
			`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"3"}}}
{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}`)
	})
	stream, err := client.Of[*corev1.ConfigMap](c, configmaps).Watch(t.Context(), "", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if event, obj, err := stream.Next(); err != nil || event != watch.Added || obj.Name != "a" {
		t.Errorf("got %s %v, %v", event, obj, err)
	}
	if _, _, err := stream.Next(); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want an expired revision", err)
	}
}

// second returns the error of a call with a result.
func second[T any](_ T, err error) error { return err }
