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

// registered waits until the webhook has said where it is.
func registered(t testing.TB, p *bowlinetest.Plane) {
	t.Helper()
	bowlinetest.Wait(t, p, "", sidecar.WebhookConfiguration, func(*admissionregistrationv1.MutatingWebhookConfiguration) bool { return true })
}

// serving runs the webhook beside the test.
func serving(o sidecar.Options) bowlinetest.Option {
	return bowlinetest.Controllers(func(ctx context.Context, config *rest.Config) error {
		o.Config = config
		return sidecar.ServeWebhook(ctx, o, "127.0.0.1:0")
	})
}

// TestPodsGetTheirSidecarByWebhook: the documents' pod, which declares one container, is created with two, a volume and its mount,
// and nobody has seen it otherwise; applied again it stays as it is.
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
	asked := example[corev1.Pod](t, "myapp-pod")
	asked.Namespace = "default"
	apply := metav1.ApplyOptions{FieldManager: "me"}
	made, err := pods.ApplyObject(t.Context(), asked, apply)
	if err != nil {
		t.Fatal(err)
	}
	has(t, made)
	_, seen, err := watch.Next()
	if err != nil {
		t.Fatal(err)
	}
	has(t, seen)
	again, err := pods.ApplyObject(t.Context(), asked, apply)
	if err != nil || again.ResourceVersion != made.ResourceVersion {
		t.Errorf("applied twice it is %v, and not %s: %v", again, made.ResourceVersion, err)
	}
}

// TestOnlyAnnotatedPodsAreAskedAbout where the options say so: others need no webhook.
func TestOnlyAnnotatedPodsAreAskedAbout(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	pods := bowlinetest.Client[*corev1.Pod](t, p)
	nobody := sidecar.Options{OnlyAnnotated: true}.Configuration("https://127.0.0.1:1", nil)
	if _, err := bowlinetest.Client[*admissionregistrationv1.MutatingWebhookConfiguration](t, p).Create(t.Context(), nobody, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	plain, annotated := example[corev1.Pod](t, "myapp-pod"), example[corev1.Pod](t, "annotated-pod")
	if _, err := pods.Create(t.Context(), in(plain), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	_, err := pods.Create(t.Context(), in(annotated), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `failed calling webhook "`+sidecar.WebhookName+`"`) {
		t.Errorf("nobody answers for the webhook, and its creator hears: %v", err)
	}
}

func in(pod *corev1.Pod) *corev1.Pod {
	pod.Namespace = metav1.NamespaceDefault
	return pod
}

// TestNoPodIsHalfInjected wherever the webhook dies: before it answers, in the middle of its answer, after it. Nobody has seen the
// pod then, its creator hears for which webhook it failed, and tries again when that is back.
func TestNoPodIsHalfInjected(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	pods := bowlinetest.Client[*corev1.Pod](t, p)
	envoy := template(t)
	hook := &sidecar.Webhook{Template: func() (*sidecar.Template, error) { return envoy, nil }}
	var dies atomic.Int64 // after how many bytes of its answer; negative is never
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
		if err == nil { // it died after it had said all
			has(t, made)
			if n != 1<<20 {
				t.Errorf("created, by %d bytes of an answer", n)
			}
		} else if !strings.Contains(err.Error(), sidecar.WebhookName) {
			t.Errorf("%d bytes: %v", n, err)
		} else if _, err := pods.Get(t.Context(), "default", "myapp-pod"); !apierrors.IsNotFound(err) {
			t.Errorf("%d bytes: a pod is there, or %v", n, err)
		}
		dies.Store(-1)
		if err != nil {
			made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			has(t, made)
		}
		if err := pods.Delete(t.Context(), "default", "myapp-pod", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
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

// TestNoTemplateNoPod: a webhook that cannot read its ConfigMap says so to who creates the pod.
func TestNoTemplateNoPod(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, serving(sidecar.Options{Namespace: "kube-system"}))
	registered(t, p)
	_, err := bowlinetest.Client[*corev1.Pod](t, p).Create(t.Context(), in(example[corev1.Pod](t, "myapp-pod")), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `configmaps \"envoy-initializer\" not found`) && !strings.Contains(err.Error(), `configmaps "envoy-initializer" not found`) {
		t.Errorf("%v", err)
	}
}

// TestWebhookAnswersWhatIsNoReview with what it expects.
func TestWebhookAnswersWhatIsNoReview(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]int{
		"": http.StatusBadRequest, "{}": http.StatusBadRequest, "[": http.StatusBadRequest,
		`{"request":{"kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":7}}`:  http.StatusInternalServerError,
		`{"request":{"kind":{"version":"v1","kind":"Node"},"operation":"CREATE","object":7}}`: http.StatusOK,
	} {
		w := httptest.NewRecorder()
		new(sidecar.Webhook).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if w.Code != code {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}
