package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

func service(name string, kind corev1.ServiceType, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: kind}}
	for i, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: p})
	}
	return s
}

// 50 concurrent creators receive unique addresses and node ports.
func TestConcurrentServicesGetUniqueAddresses(t *testing.T) {
	t.Parallel()
	w := start(t)
	services := w.clients.CoreV1().Services("default")
	const creators, each = 50, 4
	var mu sync.Mutex
	owners := map[string]string{}
	concurrently(t, creators, func(ctx context.Context, i int) error {
		for n := range each {
			s, err := services.Create(ctx, service(fmt.Sprintf("s-%d-%d", i, n), corev1.ServiceTypeNodePort, 80, 443),
				metav1.CreateOptions{})
			if err != nil {
				return err
			}
			mu.Lock()
			for _, value := range []string{s.Spec.ClusterIP, fmt.Sprint(s.Spec.Ports[0].NodePort),
				fmt.Sprint(s.Spec.Ports[1].NodePort)} {
				if owner := owners[value]; owner != "" || value == "" || value == "0" {
					t.Errorf("%s has %q, which belongs to %q", s.Name, value, owner)
				}
				owners[value] = s.Name
			}
			mu.Unlock()
		}
		return nil
	})
	if want := creators * each * 3; len(owners) != want {
		t.Errorf("%d addresses and ports are assigned, want %d", len(owners), want)
	}
}

// If many creators request the same address or port, one gets it, and the errors of the others name it as
// allocated.
func TestConcurrentServicesRequestSameAddress(t *testing.T) {
	t.Parallel()
	w := start(t)
	services := w.clients.CoreV1().Services("default")
	first := must(services.Create(t.Context(), service("probe", corev1.ServiceTypeNodePort, 80),
		metav1.CreateOptions{}))(t)
	if err := services.Delete(t.Context(), "probe", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	won := map[string]int{}
	concurrently(t, 50, func(ctx context.Context, i int) error {
		byAddress := service(fmt.Sprintf("a-%d", i), corev1.ServiceTypeClusterIP, 80)
		byAddress.Spec.ClusterIP = first.Spec.ClusterIP
		byPort := service(fmt.Sprintf("p-%d", i), corev1.ServiceTypeNodePort, 80)
		byPort.Spec.Ports[0].NodePort = first.Spec.Ports[0].NodePort
		for what, s := range map[string]*corev1.Service{"address": byAddress, "port": byPort} {
			_, err := services.Create(ctx, s, metav1.CreateOptions{})
			switch {
			case err == nil:
				mu.Lock()
				won[what]++
				mu.Unlock()
			case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "already allocated"):
				return err
			}
		}
		return nil
	})
	if won["address"] != 1 || won["port"] != 1 {
		t.Errorf("the address has %d owners, the port %d, want 1 each", won["address"], won["port"])
	}
}

// Addresses and ports are released when the Service is deleted, when its type no longer has them, and when a
// port is removed.
func TestAddressesAndPortsAreReleased(t *testing.T) {
	t.Parallel()
	w := start(t)
	services := w.clients.CoreV1().Services("default")
	create := func(name, address string, port int32) error {
		s := service(name, corev1.ServiceTypeNodePort, 80)
		s.Spec.ClusterIP = address
		s.Spec.Ports[0].NodePort = port
		_, err := services.Create(t.Context(), s, metav1.CreateOptions{})
		return err
	}
	a := must(services.Create(t.Context(), service("a", corev1.ServiceTypeNodePort, 80, 443),
		metav1.CreateOptions{}))(t)
	if err := create("taken", "", a.Spec.Ports[0].NodePort); !apierrors.IsInvalid(err) {
		t.Errorf("a port that is taken: %v", err)
	}
	if err := create("taken", a.Spec.ClusterIP, 0); !apierrors.IsInvalid(err) {
		t.Errorf("an address that is taken: %v", err)
	}
	// a port is removed
	p := must(services.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/ports/1"}]`),
		metav1.PatchOptions{}))(t)
	if p.Spec.ClusterIP != a.Spec.ClusterIP || p.Spec.Ports[0].NodePort != a.Spec.Ports[0].NodePort {
		t.Errorf("a patch of one port changed %+v to %+v", a.Spec, p.Spec)
	}
	if err := create("b", "", a.Spec.Ports[1].NodePort); err != nil {
		t.Errorf("create with the removed port: %v", err)
	}
	// the type changes
	p = must(services.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"type":"ClusterIP"}}`),
		metav1.PatchOptions{}))(t)
	if p.Spec.Ports[0].NodePort != 0 || p.Spec.ClusterIP != a.Spec.ClusterIP {
		t.Errorf("as ClusterIP it is %+v", p.Spec)
	}
	if err := create("c", "", a.Spec.Ports[0].NodePort); err != nil {
		t.Errorf("create with the port of the previous type: %v", err)
	}
	p = must(services.Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"spec":{"type":"ExternalName","externalName":"example.com","clusterIP":"","clusterIPs":null}}`),
		metav1.PatchOptions{}))(t)
	if p.Spec.ClusterIP != "" {
		t.Errorf("as ExternalName it is %+v", p.Spec)
	}
	if err := create("d", a.Spec.ClusterIP, 0); err != nil {
		t.Errorf("create with the address of the previous type: %v", err)
	}
	// the Services are deleted, individually and as a collection
	d := must(services.Get(t.Context(), "d", metav1.GetOptions{}))(t)
	if err := services.Delete(t.Context(), "d", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := create("e", d.Spec.ClusterIP, d.Spec.Ports[0].NodePort); err != nil {
		t.Errorf("create with the address and port of a deleted Service: %v", err)
	}
	w.send(t, http.MethodDelete, "/api/v1/namespaces/default/services", "").want(t, http.StatusOK)
	if err := create("f", d.Spec.ClusterIP, a.Spec.Ports[0].NodePort); err != nil {
		t.Errorf("create with the address and port of deleted Services: %v", err)
	}
}

// A rejected Service holds no claims; the next one can get what it requested.
func TestRejectedServiceHoldsNoClaims(t *testing.T) {
	t.Parallel()
	w := start(t)
	services := w.clients.CoreV1().Services("default")
	valid := service("a", corev1.ServiceTypeNodePort, 80)
	valid.Spec.ClusterIP, valid.Spec.Ports[0].NodePort = "10.0.0.77", 30777
	invalid := valid.DeepCopy()
	invalid.Spec.Ports[0].Port = 70000
	if _, err := services.Create(t.Context(), invalid, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatalf("a port of 70000: %v", err)
	}
	if _, err := services.Create(t.Context(), valid,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatalf("dry run: %v", err)
	}
	must(services.Create(t.Context(), valid, metav1.CreateOptions{}))(t)
}

// An update that omits addresses and ports preserves them, and cannot change the address.
func TestServiceUpdateKeepsAddresses(t *testing.T) {
	t.Parallel()
	w := start(t)
	services := w.clients.CoreV1().Services("default")
	a := must(services.Create(t.Context(), service("a", corev1.ServiceTypeNodePort, 80), metav1.CreateOptions{}))(t)
	bare := service("a", corev1.ServiceTypeNodePort, 80)
	bare.ResourceVersion = a.ResourceVersion
	bare.Labels = map[string]string{"l": "1"}
	updated := must(services.Update(t.Context(), bare, metav1.UpdateOptions{}))(t)
	if updated.Spec.ClusterIP != a.Spec.ClusterIP || updated.Spec.Ports[0].NodePort != a.Spec.Ports[0].NodePort {
		t.Errorf("updated to %+v from %+v", updated.Spec, a.Spec)
	}
	b := must(services.Create(t.Context(), service("b", corev1.ServiceTypeNodePort, 80), metav1.CreateOptions{}))(t)
	b.Spec.ClusterIP, b.Spec.ClusterIPs = a.Spec.ClusterIP, []string{a.Spec.ClusterIP}
	if _, err := services.Update(t.Context(), b, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("update to the address of another Service: %v, want invalid", err)
	}
	// concurrent writers of one Service do not conflict
	concurrently(t, 20, func(ctx context.Context, i int) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"l%d":"1"}},"spec":{"type":%q}}`, i,
			[]string{"NodePort", "ClusterIP"}[i%2])
		_, err := services.Patch(ctx, "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	if got := must(services.Get(t.Context(), "a", metav1.GetOptions{}))(t); len(got.Labels) != 21 ||
		got.Spec.ClusterIP != a.Spec.ClusterIP {
		t.Errorf("after 20 patches: %+v", got)
	}
}

// addressTaker is a plugin that creates, once, another Service with the address and port that the server is about
// to assign.
type addressTaker struct {
	taken  bool
	create func(*corev1.Service) error
}

func (*addressTaker) Name() string { return "AddressTaker" }
func (*addressTaker) Handles(op admission.Operation, r resourceOf, _ string) bool {
	return op == admission.Create && r.Resource == "services"
}
func (*addressTaker) Admit(ctx, *admission.Attributes, admission.Reader) error { return nil }
func (p *addressTaker) Validate(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	if p.taken {
		return nil
	}
	p.taken = true
	mine := a.Object.(*corev1.Service)
	other := service("other", corev1.ServiceTypeNodePort, 80)
	other.Spec.ClusterIP, other.Spec.Ports[0].NodePort = mine.Spec.ClusterIP, mine.Spec.Ports[0].NodePort
	return p.create(other)
}

// A create whose assigned address is taken before the commit is retried with another address.
func TestServiceCreateRetriesTakenAddress(t *testing.T) {
	t.Parallel()
	p := &addressTaker{}
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{p} })
	services := w.clients.CoreV1().Services("default")
	p.create = func(s *corev1.Service) error {
		_, err := services.Create(t.Context(), s, metav1.CreateOptions{})
		return err
	}
	mine := must(services.Create(t.Context(), service("mine", corev1.ServiceTypeNodePort, 80),
		metav1.CreateOptions{}))(t)
	other := must(services.Get(t.Context(), "other", metav1.GetOptions{}))(t)
	if mine.Spec.ClusterIP == "" || mine.Spec.ClusterIP == other.Spec.ClusterIP || mine.Spec.Ports[0].NodePort == 0 ||
		mine.Spec.Ports[0].NodePort == other.Spec.Ports[0].NodePort {
		t.Errorf("mine %+v, other %+v", mine.Spec, other.Spec)
	}
}
