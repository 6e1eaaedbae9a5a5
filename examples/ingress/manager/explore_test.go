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

// process runs the manager.
func process(ctx context.Context, config *rest.Config) error {
	return manager.Run(ctx, manager.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
}

// user creates and changes services, and interferes with the manager's Ingresses.
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

// then runs a step unless an earlier one has failed, and waits a moment.
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
		_, err := u.services.Patch(u.ctx, "default", name, "", types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
		return err
	})
}

func (u *user) remove(name string) {
	u.then(func() error { return u.services.Delete(u.ctx, "default", name, metav1.DeleteOptions{}) })
}

// foreignIngress creates an Ingress without an owner, and a service of the same name.
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

// changeServices creates, changes and deletes services, recreates one under the same name, and deletes an Ingress.
func changeServices(ctx context.Context, config *rest.Config) error {
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

// named selects the object of a name.
func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: "metadata.name=" + name}
}

// foreignIngressesUntouched returns an error if the manager changed an Ingress that it did not create, or created
// one under another name.
func foreignIngressesUntouched(s bowlinetest.State) error {
	for _, i := range s.Kind("Ingress") {
		owner := metav1.GetControllerOf(i)
		if i.GetName() == "taken" && (owner != nil || hostOf(i) != "mine.example.com") {
			return errors.New("somebody else's Ingress was touched")
		}
		if i.GetName() != "taken" && (owner == nil || owner.Name != i.GetName()) {
			return fmt.Errorf("Ingress %s has the owners %v", i.GetName(), owner)
		}
	}
	return nil
}

// asDeclared fails the test unless the final state has exactly the requested Ingresses. It reduces the state
// to the Ingresses.
func asDeclared(t *testing.T) func(bowlinetest.State) bowlinetest.State {
	return func(s bowlinetest.State) bowlinetest.State {
		differences := 0
		for _, service := range s.Kind("Service") {
			i := s.Find("Ingress", service.GetNamespace(), service.GetName())
			if service.GetName() == "taken" {
				continue // checked by the invariant
			}
			wants := service.GetAnnotations()["ingress/http"] == "true"
			if wants != (i != nil) || wants &&
				(!metav1.IsControlledBy(i, service) || hostOf(i) != wantedHost(service)) {
				differences++
			}
		}
		for _, i := range s.Kind("Ingress") {
			if s.Find("Service", i.GetNamespace(), i.GetName()) == nil {
				differences++
			}
		}
		if differences > 0 {
			t.Errorf("%d Ingresses are not as declared: %s", differences, asJSON(s.Kind("Ingress")))
		}
		return bowlinetest.State{Objects: s.Kind("Ingress")} // services have random cluster IPs
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

// withManagers returns a scenario with several independent managers.
func withManagers(t *testing.T, names ...string) bowlinetest.Scenario {
	s := bowlinetest.Scenario{
		Setup: foreignIngress, Act: changeServices, Compare: asDeclared(t),
		Invariants: []func(bowlinetest.State) error{foreignIngressesUntouched},
	}
	for _, name := range names {
		s.Processes = append(s.Processes, bowlinetest.Process{Name: name, Run: process})
	}
	return s
}

// faultBudget is the maximum number of runs of Explore; 0 means no limit.
var faultBudget int

// enough checks that enough fault points were tried.
func enough(t *testing.T, r *bowlinetest.Report, least int) {
	t.Helper()
	t.Logf("%d fault points; the faults that no run came by are %q", r.Tried(), r.Unreached)
	if faultBudget > 0 {
		least = faultBudget / 4
	}
	if r.Tried() < least {
		t.Errorf("only %d fault points were tried: the scenario does too little", r.Tried())
	}
}

// After any single fault each annotated service has its Ingress, and no other Ingress is touched.
func TestExploreManager(t *testing.T) {
	t.Parallel()
	s := withManagers(t, "manager")
	s.Budget = faultBudget
	enough(t, bowlinetest.Explore(t, s), 100)
}

// With two managers either may create an Ingress first, so more runs do not reach their fault point. A sample
// of the more than 250 points is tried.
func TestExploreTwoManagers(t *testing.T) {
	t.Parallel()
	s := withManagers(t, "manager", "second")
	if s.Budget = 60; faultBudget > 0 {
		s.Budget = faultBudget
	}
	enough(t, bowlinetest.Explore(t, s), 20)
}
