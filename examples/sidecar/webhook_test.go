package sidecar_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/sidecar"
)

// registered waits until the webhook has applied its configuration.
func registered(t testing.TB, p *bowlinetest.Plane) {
	t.Helper()
	bowlinetest.Wait(t, p, "", sidecar.WebhookConfiguration,
		func(*admissionregistrationv1.MutatingWebhookConfiguration) bool { return true })
}

// serving runs the webhook during the test.
func serving(o sidecar.Options) bowlinetest.Option {
	return bowlinetest.Controllers(func(ctx context.Context, config *rest.Config) error {
		o.Config = config
		return sidecar.ServeWebhook(ctx, o, "127.0.0.1:0")
	})
}

// TestPodsGetTheirSidecarByWebhook creates the pod of the documents, which declares one container. It has two
// containers, a volume and a mount when it becomes visible, and a second apply does not change it.
func TestPodsGetTheirSidecarByWebhook(t *testing.T) {
	t.Parallel()
	cm := example[corev1.ConfigMap](t, "envoy-initializer")
	p := bowlinetest.Start(t, bowlinetest.Objects(cm), serving(sidecar.Options{}))
	registered(t, p)
	pods := bowlinetest.Client[*corev1.Pod](t, p)
	watch, err := pods.Watch(t.Context(), "default", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	pod := example[corev1.Pod](t, "myapp-pod")
	pod.Namespace = "default"
	apply := metav1.ApplyOptions{FieldManager: "me"}
	made, err := pods.ApplyObject(t.Context(), pod, apply)
	if err != nil {
		t.Fatal(err)
	}
	has(t, made)
	_, seen, err := watch.Next()
	if err != nil {
		t.Fatal(err)
	}
	has(t, seen)
	second, err := pods.ApplyObject(t.Context(), pod, apply)
	if err != nil || second.ResourceVersion != made.ResourceVersion {
		t.Errorf("the second apply changed the pod: got %v, want resourceVersion %s: %v", second, made.ResourceVersion,
			err)
	}
}

// TestOnlyAnnotatedPodsAreAskedAbout checks that with OnlyAnnotated the server calls the webhook only for
// annotated pods.
func TestOnlyAnnotatedPodsAreAskedAbout(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	pods := bowlinetest.Client[*corev1.Pod](t, p)
	unreachable := sidecar.Options{OnlyAnnotated: true}.Configuration("https://127.0.0.1:1", nil)
	if _, err := bowlinetest.Client[*admissionregistrationv1.MutatingWebhookConfiguration](t, p).Create(t.Context(),
		unreachable, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	plain, annotated := example[corev1.Pod](t, "myapp-pod"), example[corev1.Pod](t, "annotated-pod")
	if _, err := pods.Create(t.Context(), in(plain), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	_, err := pods.Create(t.Context(), in(annotated), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `failed calling webhook "`+sidecar.WebhookName+`"`) {
		t.Errorf("missing webhook: the creator got %v", err)
	}
}

func in(pod *corev1.Pod) *corev1.Pod {
	pod.Namespace = metav1.NamespaceDefault
	return pod
}

// TestNoPodIsHalfInjected stops the webhook at several points of its response. The pod is then not created,
// the error names the webhook, and a retry succeeds when the webhook is back.
func TestNoPodIsHalfInjected(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	pods := bowlinetest.Client[*corev1.Pod](t, p)
	envoy := template(t)
	hook := &sidecar.Webhook{Template: func() (*sidecar.Template, error) { return envoy, nil }}
	var dies atomic.Int64 // after this number of bytes of the response; negative means never
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded := httptest.NewRecorder()
		hook.ServeHTTP(recorded, r)
		n := int(dies.Load())
		if n < 0 || n >= recorded.Body.Len() {
			n = recorded.Body.Len()
		}
		w.Header().Set("Content-Length", fmt.Sprint(recorded.Body.Len()))
		w.Write(recorded.Body.Bytes()[:n])
		if dies.Load() >= 0 {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	create(t, p, sidecar.Options{}.Configuration(server.URL, authority))
	for _, n := range []int64{0, 1, 100, 500, 1 << 20} {
		dies.Store(n)
		pod := in(example[corev1.Pod](t, "myapp-pod"))
		made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if err == nil { // the complete response had been sent
			has(t, made)
			if n != 1<<20 {
				t.Errorf("the pod was created although the webhook sent only %d bytes", n)
			}
		} else if !strings.Contains(err.Error(), sidecar.WebhookName) {
			t.Errorf("webhook that sends %d bytes: got error %v", n, err)
		} else if _, err := pods.Get(t.Context(), "default", "myapp-pod"); !apierrors.IsNotFound(err) {
			t.Errorf("webhook that sends %d bytes: the pod exists, or error %v", n, err)
		}
		dies.Store(-1)
		if err != nil {
			made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			has(t, made)
		}
		if err := pods.Delete(t.Context(), "default", "myapp-pod",
			metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
}

func create[T client.Object](t testing.TB, p *bowlinetest.Plane, obj T) {
	t.Helper()
	if _, err := bowlinetest.Client[T](t, p).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestNoTemplateNoPod checks that the creator of a pod is told if the webhook cannot read its ConfigMap.
func TestNoTemplateNoPod(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, serving(sidecar.Options{Namespace: "kube-system"}))
	registered(t, p)
	_, err := bowlinetest.Client[*corev1.Pod](t, p).Create(t.Context(), in(example[corev1.Pod](t, "myapp-pod")),
		metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `configmaps \"envoy-initializer\" not found`) &&
		!strings.Contains(err.Error(), `configmaps "envoy-initializer" not found`) {
		t.Errorf("got error %v", err)
	}
}

// TestInvalidReviews checks the responses to invalid requests.
func TestInvalidReviews(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]int{
		"": http.StatusBadRequest, "{}": http.StatusBadRequest, "[": http.StatusBadRequest,
		`{"request":{"kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":7}}`:  http.StatusInternalServerError,
		`{"request":{"kind":{"version":"v1","kind":"Node"},"operation":"CREATE","object":7}}`: http.StatusOK,
	} {
		w := httptest.NewRecorder()
		new(sidecar.Webhook).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if w.Code != code {
			t.Errorf("review %q: got %d %s", body, w.Code, w.Body)
		}
	}
}
