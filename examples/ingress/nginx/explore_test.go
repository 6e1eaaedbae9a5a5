package nginx

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
)

// nginxes records what the nginxes of a run serve. The last one started is current.
type nginxes struct {
	mu   sync.Mutex
	text string
	ever string // all configurations that were ever served
}

// memory is an nginx in memory that records what it serves in nginxes. Like a real one, it ends with its
// controller's process and starts without a configuration.
type memory struct {
	ctx context.Context // of the process
	recorder
	*nginxes
}

func (m *memory) Serve(ctx context.Context, c Configuration) error {
	if m.now() == c.Text {
		return nil
	}
	return bowlinetest.Effect(m.ctx, "reload nginx", func() error {
		if err := m.recorder.Serve(ctx, c); err != nil {
			return err
		}
		m.nginxes.mu.Lock()
		defer m.nginxes.mu.Unlock()
		m.text, m.ever = c.Text, m.ever+c.Text
		return nil
	})
}

// controllerProcess runs the controller with an nginx in memory.
func controllerProcess(ctx context.Context, config *rest.Config) error {
	at := func(text string) address { return address{netip.MustParseAddrPort(text)} }
	to := &memory{ctx: ctx, nginxes: bowlinetest.ExternalSystem[*nginxes](ctx)}
	to.refuses = []string{"/refused"}
	quiet := loop.ManagerOptions{Log: slog.New(slog.DiscardHandler)}
	m, err := newManager(config, quiet, DefaultClass, at("127.0.0.1:80"), at("127.0.0.1:443"), to)
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// declareAndChange creates, changes and deletes Ingresses, Services, endpoints and a certificate. It waits
// after each step until the controller is idle, so that every run has the same order.
func declareAndChange(secret *corev1.Secret) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		ingresses, slices := client.For[*networkingv1.Ingress](c), client.For[*discoveryv1.EndpointSlice](c)
		services, secrets := client.For[*corev1.Service](c), client.For[*corev1.Secret](c)
		web, slice := service("web"), endpoints("web", netip.MustParseAddrPort("10.0.0.1:8080"))
		web.Spec.ClusterIP = corev1.ClusterIPNone // a random cluster IP would make the final states differ
		declare := func(i ingress) func() error {
			return func() error { return second(ingresses.Create(ctx, i.Ingress, metav1.CreateOptions{})) }
		}
		replace := func(path, value string) []byte {
			return fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":%q}]`, path, value)
		}
		for _, step := range []func() error{
			func() error { return second(secrets.Create(ctx, secret, metav1.CreateOptions{})) },
			func() error { return second(services.Create(ctx, web, metav1.CreateOptions{})) },
			declare(newIngress("a").prefix("a.com", "/", "web").tls("cert", "a.com")),
			declare(newIngress("b").prefix("b.com", "/", "web")),
			declare(newIngress("bad").prefix("bad.com", "/refused", "web")),
			declare(newIngress("gone").prefix("gone.com", "/", "nothing")),
			func() error { return second(slices.Create(ctx, slice, metav1.CreateOptions{})) },
			func() error {
				to := replace("/spec/rules/0/host", "c.com")
				return second(ingresses.Patch(ctx, "default", "b", "", types.JSONPatchType, to, metav1.PatchOptions{}))
			},
			func() error {
				to := replace("/endpoints/0/addresses/0", "10.0.0.2")
				return second(slices.Patch(ctx, "default", slice.Name, "", types.JSONPatchType, to,
					metav1.PatchOptions{}))
			},
			func() error { return ingresses.Delete(ctx, "default", "gone", metav1.DeleteOptions{}) },
			func() error { return secrets.Delete(ctx, "default", "cert", metav1.DeleteOptions{}) },
			func() error {
				to := replace("/spec/ingressClassName", "other")
				return second(ingresses.Patch(ctx, "default", "b", "", types.JSONPatchType, to, metav1.PatchOptions{}))
			},
		} {
			if err := step(); err != nil {
				return err
			}
			time.Sleep(5 * time.Second)
		}
		return nil
	}
}

func second[T any](_ T, err error) error { return err }

// statusImpliesServed returns an error if the status of an Ingress has an address and nginx never served it. The bad
// Ingress has an address too, with an error.
func statusImpliesServed(s bowlinetest.State) error {
	ever := s.External.(map[string]string)["ever"]
	hosts := map[string][]string{"a": {"a.com"}, "b": {"b.com", "c.com"}, "gone": {"gone.com"}, "bad": {""}}
	for _, i := range s.Kind("Ingress") {
		at, _, _ := unstructured.NestedSlice(i.Object, "status", "loadBalancer", "ingress")
		served := slices.ContainsFunc(hosts[i.GetName()], func(host string) bool {
			return strings.Contains(ever, host)
		})
		if len(at) > 0 && !served {
			return fmt.Errorf("the Ingress %s has an address, and nginx never served it", i.GetName())
		}
	}
	return nil
}

// declaredBy returns the configuration that the objects of a state declare.
func declaredBy(t *testing.T, s bowlinetest.State) string {
	r := &recorder{refuses: []string{"/refused"}}
	certificates := newCertificates(func(key types.NamespacedName) *corev1.Secret {
		return found[corev1.Secret](t, s, "Secret", key)
	})
	a := newApplier(r, listening{"127.0.0.1:80", "127.0.0.1:443"}, objects{
		service: func(key types.NamespacedName) *corev1.Service {
			return found[corev1.Service](t, s, "Service", key)
		},
		certificate: certificates.file,
		slices: func(key types.NamespacedName) []*discoveryv1.EndpointSlice {
			key.Name += "-slice"
			if slice := found[discoveryv1.EndpointSlice](t, s, "EndpointSlice", key); slice != nil {
				return []*discoveryv1.EndpointSlice{slice}
			}
			return nil
		},
	}, certificates)
	var all []*networkingv1.Ingress
	for _, i := range s.Kind("Ingress") {
		key := types.NamespacedName{Namespace: i.GetNamespace(), Name: i.GetName()}
		all = append(all, found[networkingv1.Ingress](t, s, "Ingress", key))
	}
	if _, _, err := a.apply(t.Context(), ofClass(all, nil, DefaultClass)); err != nil {
		t.Error(err)
	}
	return r.now()
}

// found returns an object of a state; nil if it does not exist.
func found[T any](t *testing.T, s bowlinetest.State, kind string, key types.NamespacedName) *T {
	o := s.Find(kind, key.Namespace, key.Name)
	if o == nil {
		return nil
	}
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		t.Error(err)
	}
	return typed
}

// faultBudget is the maximum number of runs of Explore; 0 means no limit.
var faultBudget int

// After any single fault nginx serves the declared Ingresses, and their status says so.
func TestExploreController(t *testing.T) {
	t.Parallel()
	secret := newAuthority(t).secret("cert", 1, nil, "a.com")
	r := bowlinetest.Explore(t, bowlinetest.Scenario{
		ExternalSystem: func() any { return &nginxes{} },
		Processes:      []bowlinetest.Process{{Name: "nginx", Run: controllerProcess}},
		Act:            declareAndChange(secret),
		Invariants:     []func(bowlinetest.State) error{statusImpliesServed},
		Budget:         faultBudget,
		ExternalState: func(system any) any {
			n := system.(*nginxes)
			n.mu.Lock()
			defer n.mu.Unlock()
			return map[string]string{"text": n.text, "ever": n.ever}
		},
		Compare: func(s bowlinetest.State) bowlinetest.State {
			served, declared := s.External.(map[string]string)["text"], declaredBy(t, s)
			if served != declared {
				t.Errorf("nginx serves\n%s\nwant, as declared,\n%s", served, declared)
			}
			s.External = served
			return s
		},
	})
	t.Logf("%d fault points; the faults that no run came by are %q", r.Tried(), r.Unreached)
	least := 80 // of about 120; on a busy machine some are not reached
	if faultBudget > 0 {
		least = faultBudget / 4
	}
	if r.Tried() < least {
		t.Errorf("only %d fault points were tried: the scenario does too little", r.Tried())
	}
}
