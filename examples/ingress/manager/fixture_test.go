package manager_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/ingress/manager"
)

// fixture is a control plane in virtual time.
type fixture struct {
	*testing.T
	log       bytes.Buffer // of the manager
	plane     *bowlinetest.Plane
	services  client.Resource[*corev1.Service]
	ingresses client.Resource[*networkingv1.Ingress]
}

// withoutCollector disables the garbage collector, so that no other controller deletes a service's Ingress or
// removes its owner reference.
func withoutCollector(o *bowline.Options) { o.Controllers = []string{"namespace"} }

// withFixture runs a test with a new fixture.
func withFixture(t *testing.T, test func(w *fixture), change ...func(*bowline.Options)) {
	t.Parallel()
	var options []bowlinetest.Option
	for _, c := range change {
		options = append(options, bowlinetest.With(c))
	}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		test(&fixture{
			T: t, plane: p,
			services:  bowlinetest.Client[*corev1.Service](t, p),
			ingresses: bowlinetest.Client[*networkingv1.Ingress](t, p),
		})
	}, options...)
}

// run starts a manager with its own connection, and returns a function that stops it.
func (w *fixture) run() (stop func()) {
	w.Helper()
	return w.runOver(w.plane.RESTConfig(), nil)
}

func (w *fixture) runOver(config *rest.Config, source client.Source) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	go func() { done <- manager.Run(ctx, manager.Options{Config: config, Source: source, Log: log}) }()
	return func() {
		w.Helper()
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
}

// waitIdle waits until the manager is idle, including early retries.
func waitIdle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// service returns a service with a port and annotations, given as pairs of name and value.
func service(name string, annotations ...string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
		Annotations: map[string]string{}}}
	s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	for pair := range slices.Chunk(annotations, 2) {
		s.Annotations[pair[0]] = pair[1]
	}
	return s
}

func (w *fixture) create(s *corev1.Service) *corev1.Service {
	w.Helper()
	s, err := w.services.Create(w.Context(), s, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// annotate sets an annotation of a service; the value null removes it.
func (w *fixture) annotate(name, annotation, value string) {
	w.Helper()
	if value != "null" {
		value = `"` + value + `"`
	}
	w.patchService(name, `{"metadata":{"annotations":{"`+annotation+`":`+value+`}}}`)
}

func (w *fixture) patchService(name, patch string) {
	w.Helper()
	_, err := w.services.Patch(w.Context(), "default", name, "", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) patchIngress(name, patch string) {
	w.Helper()
	_, err := w.ingresses.Patch(w.Context(), "default", name, "", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) deleteService(name string) {
	w.Helper()
	if err := w.services.Delete(w.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// ingress returns the Ingress of a name.
func (w *fixture) ingress(name string) *networkingv1.Ingress {
	w.Helper()
	i, err := w.ingresses.Get(w.Context(), "default", name)
	if err != nil {
		w.Fatal(err)
	}
	return i
}

// hasNone checks that there is no Ingress of a name.
func (w *fixture) hasNone(name string) {
	w.Helper()
	if i, err := w.ingresses.Get(w.Context(), "default", name); !apierrors.IsNotFound(err) {
		w.Errorf("Ingress %s exists: %+v, %v", name, i.Spec, err)
	}
}

// routes checks that an Ingress is owned by the service and has this host, path and port.
func (w *fixture) routes(s *corev1.Service, host, path string, port int32) *networkingv1.Ingress {
	w.Helper()
	i := w.ingress(s.Name)
	if !metav1.IsControlledBy(i, s) {
		w.Errorf("Ingress %s has the owners %+v, want its service %s", i.Name, i.OwnerReferences, s.UID)
	}
	prefix, class := networkingv1.PathTypePrefix, "nginx"
	want := networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
		Host: host,
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{
				Path: path, PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: s.Name, Port: networkingv1.ServiceBackendPort{Number: port},
				}},
			}},
		}},
	}}}
	got := *i.Spec.DeepCopy()
	got.TLS = nil // users may add TLS
	if g, w2 := asJSON(got), asJSON(want); g != w2 {
		w.Errorf("Ingress %s: got\n%s\nwant\n%s", i.Name, g, w2)
	}
	return i
}

// events returns the type and reason of all events about an object, in order.
func (w *fixture) events(uid types.UID) []string {
	w.Helper()
	var found []string
	for _, e := range w.eventObjects(uid) {
		found = append(found, e.Type+" "+e.Reason)
	}
	return found
}

func (w *fixture) eventObjects(uid types.UID) []*corev1.Event {
	w.Helper()
	page, err := bowlinetest.Client[*corev1.Event](w.T, w.plane).List(w.Context(), "default", metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	slices.SortStableFunc(page.Items, func(a, b *corev1.Event) int {
		return a.FirstTimestamp.Compare(b.FirstTimestamp.Time)
	})
	return slices.DeleteFunc(page.Items, func(e *corev1.Event) bool { return e.InvolvedObject.UID != uid })
}

// warned checks that the last event about a service is a warning with this reason and text.
func (w *fixture) warned(s *corev1.Service, reason, text string) {
	w.Helper()
	events := w.eventObjects(s.UID)
	if len(events) == 0 {
		w.Fatalf("there is no event about %s, want %s", s.Name, reason)
	}
	last := events[len(events)-1]
	if last.Type != corev1.EventTypeWarning || last.Reason != reason || !strings.Contains(last.Message, text) {
		w.Errorf("the last event about %s is %s %s: %s\nwant %s that mentions %q",
			s.Name, last.Type, last.Reason, last.Message, reason, text)
	}
}

func clientOf[T client.Object](w *fixture) client.Resource[T] {
	w.Helper()
	return bowlinetest.Client[T](w.T, w.plane)
}
