package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/wire"
)

// forms is a transport that records the media types of request and response bodies.
type forms struct {
	next http.RoundTripper
	used *[]string
}

func (f forms) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := f.next.RoundTrip(q)
	if err == nil {
		short := func(s string) string { return s[strings.LastIndexAny(s, "./")+1:] }
		*f.used = append(*f.used, fmt.Sprintf("%s %s>%s", q.Method, short(q.Header.Get("Content-Type")),
			short(answer.Header.Get("Content-Type"))))
	}
	return answer, err
}

func TestBuiltInTypesUseProtobuf(t *testing.T) {
	t.Parallel()
	var used []string
	config := startPlane(t).RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return forms{next, &used} })
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	maps := client.Of[*corev1.ConfigMap](c, configmaps)
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"},
		Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = maps.Create(ctx, made, metav1.CreateOptions{}); err == nil {
		t.Fatal("the second Create returned no error")
	}
	if _, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}},
		metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v for an error in protobuf", err)
	}
	got, err := maps.Get(ctx, "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	page, err := maps.List(ctx, "default", metav1.ListOptions{})
	if err != nil || len(page.Items) != 1 || page.ResourceVersion != made.ResourceVersion {
		t.Fatalf("got %+v, %v", page, err)
	}
	untyped := client.Of[*unstructured.Unstructured](c, configmaps)
	other, err := untyped.Get(ctx, "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	data, err := other.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	json, err := wire.Decode[*corev1.ConfigMap](data)
	if err != nil {
		t.Fatal(err)
	}
	for form, obj := range map[string]*corev1.ConfigMap{"created": made, "got": got, "listed": page.Items[0]} {
		if diff := cmp.Diff(json, obj); diff != "" {
			t.Errorf("(-JSON +%s):\n%s", form, diff)
		}
	}
	want := []string{"POST protobuf>protobuf", "POST protobuf>protobuf", "POST protobuf>protobuf", "GET >protobuf",
		"GET >protobuf", "GET >json"}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Decoding an object into a Go type of another kind is an error, and does not return an empty object.
func TestOtherKindIsAnError(t *testing.T) {
	t.Parallel()
	c := connected(t)
	ctx := t.Context()
	made, err := client.For[*corev1.ConfigMap](c).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Of[*corev1.Secret](c, configmaps).Get(ctx, "default", "a")
	decodeError := new(client.DecodeError)
	if !errors.As(err, &decodeError) || !strings.Contains(err.Error(),
		"reading ConfigMap default/a into a *v1.Secret: the server sent a ConfigMap") {
		t.Errorf("got %v", err)
	}
	partial, err := client.Of[*metav1.PartialObjectMetadata](c, configmaps).Get(ctx, "default", "a")
	if err != nil || partial.UID != made.UID || partial.Kind != "ConfigMap" {
		t.Errorf("only metadata: got %+v, %v", partial, err)
	}
}

// Own is a user's Go type for pods, with the methods of the type that it embeds.
type Own struct {
	corev1.Pod
	Note string `json:"note"`
}

func TestEmbeddingTypeIsDecodedFromJSON(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header.Get("Accept"); strings.Contains(accept, "protobuf") {
			t.Errorf("got Accept %s", accept)
		}
		answer(w, 200, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"note":"n"}`)
	})
	obj, err := client.Of[*Own](c, corev1.SchemeGroupVersion.WithResource("pods")).Get(t.Context(), "ns", "a")
	if err != nil || obj.Name != "a" || obj.Note != "n" {
		t.Errorf("got %+v, %v", obj, err)
	}
	if wire.ReadsProtobuf[*Own]() || !wire.ReadsProtobuf[*corev1.Pod]() ||
		!wire.ReadsProtobuf[*metav1.PartialObjectMetadata]() {
		t.Error("wrong decision about types that can be decoded from protobuf")
	}
}

// A server may answer in JSON although the client accepts protobuf.
func TestJSONResponsesAreDecoded(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answer(w, 200,
				`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}]}`)
			return
		}
		answer(w, 200, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"}}`)
	})
	deployments := client.Of[*appsv1.Deployment](c, appsv1.SchemeGroupVersion.WithResource("deployments"))
	if obj, err := deployments.Patch(t.Context(), "ns", "a", "", types.MergePatchType, []byte("{}"),
		metav1.PatchOptions{}); err != nil || obj.Name != "a" {
		t.Errorf("got %+v, %v", obj, err)
	}
	if page, err := deployments.List(t.Context(), "ns", metav1.ListOptions{}); err != nil || len(page.Items) != 1 {
		t.Errorf("got %+v, %v", page, err)
	}
}
