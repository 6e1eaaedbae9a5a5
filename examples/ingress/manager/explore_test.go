package manager_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/ingress/manager"
)

// process is the manager as a program.
func process(ctx context.Context, config *rest.Config) error {
	return manager.Run(ctx, manager.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
}

// user declares services, and has the hands that get into the manager's way.
type user struct {
	ctx       context.Context
	services  client.Resource[*corev1.Service]
	ingresses client.Resource[*networkingv1.Ingress]
	failed    error
}

func newUser(ctx context.Context, config *rest.Config) *user {
	c, err := client.New(config)
	if err != nil {
		return &user{failed: err}
	}
	return &user{ctx: ctx, services: client.For[*corev1.Service](c), ingresses: client.For[*networkingv1.Ingress](c)}
}

// then is the next step, unless one before has failed; a moment passes after it.
func (u *user) then(step func() error) {
	if u.failed == nil {
		u.failed = step()
		time.Sleep(5 * time.Second)
	}
}

func (u *user) create(s *corev1.Service) {
	u.then(func() error {
		_, err := u.services.Create(u.ctx, s, metav1.CreateOptions{})
		return err
	})
}

func (u *user) patch(name, patch string) {
	u.then(func() error {
		_, err := u.services.Patch(u.ctx, "default", name, "", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

func (u *user) remove(name string) {
	u.then(func() error { return u.services.Delete(u.ctx, "default", name, metav1.DeleteOptions{}) })
}

// foreignIngress is somebody else's, of a name that a service has too.
func foreignIngress(ctx context.Context, config *rest.Config) error {
	u := newUser(ctx, config)
	u.then(func() error {
		i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "taken"}}
		i.Spec.Rules = []networkingv1.IngressRule{{Host: "mine.example.com"}}
		_, err := u.ingresses.Create(ctx, i, metav1.CreateOptions{})
		return err
	})
	u.create(service("taken", "ingress/http", "true"))
	return u.failed
}

// aDay is what users do: services come, change and go, one comes again as another, and an Ingress is deleted by hand.
func aDay(ctx context.Context, config *rest.Config) error {
	u := newUser(ctx, config)
	u.create(service("a", "ingress/http", "true"))
	u.create(service("b", "ingress/http", "true"))
	u.create(service("c"))
	u.then(func() error { return u.ingresses.DeleteCollection(ctx, "default", metav1.DeleteOptions{}, named("a")) })
	u.patch("c", `{"metadata":{"annotations":{"ingress/http":"true"}}}`)
	u.patch("a", `{"metadata":{"annotations":{"ingress/host":"a.example.com"}},"spec":{"ports":[{"port":8080}]}}`)
	u.patch("c", `{"metadata":{"annotations":null}}`)
	u.remove("b")
	u.create(service("b", "ingress/http", "true", "ingress/host", "b.example.com"))
	u.create(service("d", "ingress/http", "true"))
	u.remove("d")
	return u.failed
}

// named is the object of that name, if there is one.
func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: "metadata.name=" + name}
}

// nobodyElsesIsTouched is broken when the manager lays hands on an Ingress that it did not make, or makes one of another name.
func nobodyElsesIsTouched(s bowlinetest.State) error {
	for _, i := range s.Kind("Ingress") {
		owner := metav1.GetControllerOf(i)
		if i.GetName() == "taken" && (owner != nil || hostOf(i) != "mine.example.com") {
			return errors.New("somebody else's Ingress was touched")
		}
		if i.GetName() != "taken" && (owner == nil || owner.Name != i.GetName()) {
			return fmt.Errorf("Ingress %s belongs to %v", i.GetName(), owner)
		}
	}
	return nil
}

// asDeclared fails a test whose end state has an Ingress too many, one too few, or a wrong one; and leaves the Ingresses to
// compare.
func asDeclared(t *testing.T) func(bowlinetest.State) bowlinetest.State {
	return func(s bowlinetest.State) bowlinetest.State {
		wrong := 0
		for _, service := range s.Kind("Service") {
			i := s.Find("Ingress", service.GetNamespace(), service.GetName())
			if service.GetName() == "taken" {
				continue // of which the invariant says what is right
			}
			wants := service.GetAnnotations()["ingress/http"] == "true"
			if wants != (i != nil) || wants && (!metav1.IsControlledBy(i, service) || hostOf(i) != wantedHost(service)) {
				wrong++
			}
		}
		for _, i := range s.Kind("Ingress") {
			if s.Find("Service", i.GetNamespace(), i.GetName()) == nil {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%d Ingresses are not as declared: %s", wrong, asJSON(s.Kind("Ingress")))
		}
		return bowlinetest.State{Objects: s.Kind("Ingress")} // services have addresses that the server draws
	}
}

func hostOf(i *unstructured.Unstructured) string {
	rules, _, _ := unstructured.NestedSlice(i.Object, "spec", "rules")
	if len(rules) != 1 {
		return ""
	}
	host, _ := rules[0].(map[string]any)["host"].(string)
	return host
}

func wantedHost(service *unstructured.Unstructured) string {
	if host := service.GetAnnotations()["ingress/host"]; host != "" {
		return host
	}
	return "example.com"
}

// withManagers is a scenario with so many managers, which know nothing of each other.
func withManagers(t *testing.T, names ...string) bowlinetest.Scenario {
	s := bowlinetest.Scenario{
		Setup: foreignIngress, Act: aDay, Compare: asDeclared(t),
		Invariants: []func(bowlinetest.State) error{nobodyElsesIsTouched},
	}
	for _, name := range names {
		s.Processes = append(s.Processes, bowlinetest.Process{Name: name, Run: process})
	}
	return s
}

// faultBudget is how many runs Explore makes at most; 0 is no bound.
var faultBudget int

// enough checks that a good part of the faults that may be tried were.
func enough(t *testing.T, r *bowlinetest.Report, least int) {
	t.Helper()
	t.Logf("%d fault points; the faults that no run came by are %q", r.Tried(), r.Unreached)
	if faultBudget > 0 {
		least = faultBudget / 4
	}
	if r.Tried() < least {
		t.Errorf("only %d fault points were tried", r.Tried())
	}
}

// Whatever goes wrong once, each annotated service comes to have its one Ingress, and nobody else's is touched.
func TestIngressesAreAsDeclaredWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	s := withManagers(t, "manager")
	s.Budget = faultBudget
	enough(t, bowlinetest.Explore(t, s), 100)
}

// So it is with two managers, of which either may be the first to make an Ingress: that leaves more runs without their fault. Of
// more than 250 points some are drawn.
func TestTwoManagersAreOfOneMindWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	s := withManagers(t, "manager", "second")
	if s.Budget = 60; faultBudget > 0 {
		s.Budget = faultBudget
	}
	enough(t, bowlinetest.Explore(t, s), 20)
}
