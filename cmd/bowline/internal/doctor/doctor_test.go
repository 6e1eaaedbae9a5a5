package doctor

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/discovery"
	"github.com/bowline-dev/bowline/internal/trial"
)

// recordingTransport is a RoundTripper that records the requests of a doctor to a plane and can answer them itself.
type recordingTransport struct {
	next     http.RoundTripper
	answers  func(*http.Request) int // returns a status code to answer with, or 0 to forward the request
	mu       sync.Mutex
	requests []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (b *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.requests = append(b.requests, r)
	b.mu.Unlock()
	if b.answers != nil {
		if code := b.answers(r); code != 0 {
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")),
				Request: r}, nil
		}
	}
	return b.next.RoundTrip(r)
}

// lists returns the number of recorded requests for a path.
func (b *recordingTransport) lists(path string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if r.URL.Path == path {
			n++
		}
	}
	return n
}

// doctorOf returns a doctor of a plane whose requests pass through a recording RoundTripper.
func doctorOf(t *testing.T, p *bowlinetest.Plane, answers func(*http.Request) int) (*doctor, *recordingTransport) {
	t.Helper()
	b, config := &recordingTransport{answers: answers}, p.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		b.next = next
		return b
	})
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	d := &doctor{client: c, now: time.Now().Add(time.Minute), podsOf: map[string][]*metav1.PartialObjectMetadata{}}
	all, failures := discovery.Resources(t.Context(), c)
	d.resources = all
	d.addDiscoveryFailures(failures)
	return d, b
}

func mustCreate[T client.Object](t *testing.T, of client.Resource[T], obj T) {
	t.Helper()
	if _, err := of.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestDoctorListsPodsOnce checks that the pods of a namespace are listed once, however many budgets are
// compared.
func TestDoctorListsPodsOnce(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	web := map[string]string{"app": "web"}
	mustCreate(t, bowlinetest.Client[*corev1.Pod](t, p), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: web},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
	for i := range 10 {
		mustCreate(t, bowlinetest.Client[*policyv1.PodDisruptionBudget](t, p), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("b%d", i)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}},
		})
	}
	d, b := doctorOf(t, p, nil)
	if err := d.budgets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.lists("/api/v1/namespaces/default/pods"); n != 1 || len(d.findings) != 45 {
		t.Errorf("got %d pairs of budgets after %d lists of pods, want 45 pairs after 1 list", len(d.findings), n)
	}
}

// TestDoctorPagesUninitializedObjects checks that objects waiting for an initializer are listed in pages and as
// metadata only, and that a resource that is no longer served is skipped.
func TestDoctorPagesUninitializedObjects(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, trial.Alone()) // controllers would create objects that wait for the initializer, too
	d, b := doctorOf(t, p, func(r *http.Request) int {
		if r.URL.Path == "/api/v1/secrets" {
			return http.StatusNotFound
		}
		return 0
	})
	configurations := d.resource(t, "initializerconfigurations").GroupVersionResource
	mustCreate(t, client.Of[*unstructured.Unstructured](d.client, configurations),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": configurations.GroupVersion().String(), "kind": "InitializerConfiguration",
			"metadata": map[string]any{"name": "nobody"},
			"initializers": []any{map[string]any{"name": "nobody.example.com", "rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
			}}}},
		}})
	const many = 501
	for i := range many {
		mustCreate(t, bowlinetest.Client[*corev1.ConfigMap](t, p).Uninitialized(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("m%d", i)},
		})
	}
	if err := d.initializers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.findings) != 1 || d.findings[0].Blocker != "initializer nobody.example.com" ||
		len(d.findings[0].Waiting) != many {
		t.Errorf("got findings %.300v, want one with all %d configmaps", d.findings, many)
	}
	if n := b.lists("/api/v1/configmaps"); n != 2 {
		t.Errorf("got %d lists of configmaps, want 2 pages", n)
	}
	for _, r := range b.requests {
		query, metadataOnly := r.URL.Query(), strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
		if query.Has("includeUninitialized") && (!query.Has("limit") || !metadataOnly) {
			t.Errorf("got request %s (metadata only: %t), want a page of metadata", r.URL, metadataOnly)
		}
	}
}

// resource returns the discovered resource with the given plural name.
func (d *doctor) resource(t *testing.T, name string) discovery.Resource {
	t.Helper()
	for _, r := range d.resources {
		if r.GroupVersionResource.Resource == name {
			return r
		}
	}
	t.Fatalf("discovery found no resource %s", name)
	return discovery.Resource{}
}

// TestDoctorReportsFailedDiscovery checks that failed discovery is reported as a finding, so that doctor does
// not report that nothing is stuck.
func TestDoctorReportsFailedDiscovery(t *testing.T) {
	t.Parallel()
	d, _ := doctorOf(t, bowlinetest.Start(t), func(r *http.Request) int {
		if r.URL.Path == "/apis" {
			return http.StatusForbidden
		}
		return 0
	})
	var printed strings.Builder
	if err := printFindings(terminal.New(&printed), d.findings); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(printed.String(), "the API discovery fails: /apis: ") || len(d.resources) == 0 {
		t.Errorf("got output %q and %d resources, want the failure and the other resources", printed.String(),
			len(d.resources))
	}
}
