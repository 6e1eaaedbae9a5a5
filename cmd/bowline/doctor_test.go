package main

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
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// between is what stands between a doctor and a plane: it remembers what was asked, and may answer itself.
type between struct {
	next    http.RoundTripper
	answers func(*http.Request) int // 0 lets the plane answer
	mu      sync.Mutex
	asked   []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.asked = append(b.asked, r)
	b.mu.Unlock()
	if b.answers != nil {
		if code := b.answers(r); code != 0 {
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
		}
	}
	return b.next.RoundTrip(r)
}

// lists are how often a path was asked for.
func (b *between) lists(path string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.asked {
		if r.URL.Path == path {
			n++
		}
	}
	return n
}

// doctorOf is a doctor of a plane.
func doctorOf(t *testing.T, p *bowlinetest.Plane, answers func(*http.Request) int) (*doctor, *between) {
	t.Helper()
	b, config := &between{answers: answers}, p.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		b.next = next
		return b
	})
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	d := &doctor{client: c, now: time.Now().Add(time.Minute), podsOf: map[string][]*metav1.PartialObjectMetadata{}}
	all, failures := resources.Discover(t.Context(), c)
	d.all = all
	d.unheard(failures)
	return d, b
}

func made[T client.Object](t *testing.T, of client.Resource[T], obj T) {
	t.Helper()
	if _, err := of.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestDoctorReadsPodsOnce, however many budgets and workloads there are to compare.
func TestDoctorReadsPodsOnce(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	web := map[string]string{"app": "web"}
	made(t, bowlinetest.Client[*corev1.Pod](t, p), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: web},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
	for i := range 10 {
		made(t, bowlinetest.Client[*policyv1.PodDisruptionBudget](t, p), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("b%d", i)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}},
		})
	}
	d, b := doctorOf(t, p, nil)
	if err := d.budgets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.lists("/api/v1/namespaces/default/pods"); n != 1 || len(d.found) != 45 {
		t.Errorf("found %d pairs of budgets, by %d lists of pods", len(d.found), n)
	}
}

// TestDoctorFindsAllThatWait for an initializer, page by page and by their metadata. A resource that has gone is none.
func TestDoctorFindsAllThatWait(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, trial.Alone()) // what controllers make would wait, too
	d, b := doctorOf(t, p, func(r *http.Request) int {
		if r.URL.Path == "/api/v1/secrets" {
			return http.StatusNotFound
		}
		return 0
	})
	configurations := d.resource(t, "initializerconfigurations").GroupVersionResource
	made(t, client.Of[*unstructured.Unstructured](d.client, configurations), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": configurations.GroupVersion().String(), "kind": "InitializerConfiguration",
		"metadata": map[string]any{"name": "nobody"},
		"initializers": []any{map[string]any{"name": "nobody.example.com", "rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
		}}}},
	}})
	const many = 501
	for i := range many {
		made(t, bowlinetest.Client[*corev1.ConfigMap](t, p).Uninitialized(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("m%d", i)},
		})
	}
	if err := d.initializers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.found) != 1 || d.found[0].Who != "initializer nobody.example.com" || len(d.found[0].Waiting) != many {
		t.Errorf("found %.300v", d.found)
	}
	if n := b.lists("/api/v1/configmaps"); n != 2 {
		t.Errorf("%d lists", n)
	}
	for _, r := range b.asked {
		query, parts := r.URL.Query(), strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
		if query.Has("includeUninitialized") && (!query.Has("limit") || !parts) {
			t.Errorf("%s reads whole objects, or all at once", r.URL)
		}
	}
}

// resource is one that the server has.
func (d *doctor) resource(t *testing.T, name string) resources.Resource {
	t.Helper()
	for _, r := range d.all {
		if r.GroupVersionResource.Resource == name {
			return r
		}
	}
	t.Fatalf("there are no %s", name)
	return resources.Resource{}
}

// TestDoctorNamesWhatIsNotHeardOf: where groups do not say what they have, it is not said that nothing hangs.
func TestDoctorNamesWhatIsNotHeardOf(t *testing.T) {
	t.Parallel()
	d, _ := doctorOf(t, bowlinetest.Start(t), func(r *http.Request) int {
		if r.URL.Path == "/apis" {
			return http.StatusForbidden
		}
		return 0
	})
	var printed strings.Builder
	if err := printHanging(newTerminal(&printed), d.found); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(printed.String(), "the API does not say all that it has: /apis: ") || len(d.all) == 0 {
		t.Errorf("printed %s, of %d resources", printed.String(), len(d.all))
	}
}
