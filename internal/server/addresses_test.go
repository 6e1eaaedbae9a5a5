package server_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const (
	servicesPath  = "/api/v1/namespaces/default/services"
	addressesPath = "/apis/networking.k8s.io/v1/ipaddresses"
	rangesPath    = "/apis/networking.k8s.io/v1/servicecidrs"
)

// at returns a service with an address, which may be empty.
func at(name, address string) *corev1.Service {
	s := service(name, corev1.ServiceTypeClusterIP, 80)
	s.Spec.ClusterIP = address
	return s
}

func (w *testPlane) createService(t testing.TB, name, address string) error {
	t.Helper()
	_, err := w.clients.CoreV1().Services("default").Create(t.Context(), at(name, address), metav1.CreateOptions{})
	return err
}

// addresses returns the names of the IPAddresses with the service that each belongs to.
func (w *testPlane) addresses(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, ip := range must(w.clients.NetworkingV1().IPAddresses().List(t.Context(), metav1.ListOptions{}))(t).Items {
		all[ip.Name] = ip.Spec.ParentRef.Namespace + "/" + ip.Spec.ParentRef.Name
	}
	return all
}

// used returns the addresses of the services with their names.
func (w *testPlane) used(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, s := range must(w.clients.CoreV1().Services("").List(t.Context(), metav1.ListOptions{}))(t).Items {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == "None" {
			continue
		}
		if other := all[s.Spec.ClusterIP]; other != "" {
			t.Errorf("%s has the address of %s", s.Name, other)
		}
		all[s.Spec.ClusterIP] = s.Namespace + "/" + s.Name
	}
	return all
}

// checkAddresses checks that each service with an address has its IPAddress, and that there are no others.
func (w *testPlane) checkAddresses(t testing.TB) {
	t.Helper()
	if used, addresses := w.used(t), w.addresses(t); !maps.Equal(used, addresses) {
		t.Errorf("the services have the addresses %v, and the IPAddresses are %v", used, addresses)
	}
}

// A server has the default range and the IPAddress of the API's service from its start, as recorded from Kubernetes.
func TestInitialAddresses(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := must(w.clients.NetworkingV1().ServiceCIDRs().Get(t.Context(), "kubernetes", metav1.GetOptions{}))(t)
	ready := r.Status.Conditions
	if !slices.Equal(r.Spec.CIDRs, []string{"10.0.0.0/24"}) || len(ready) != 1 || ready[0].Type != "Ready" ||
		ready[0].Status != "True" || ready[0].Reason != "" || ready[0].LastTransitionTime.IsZero() ||
		ready[0].Message != "Kubernetes default Service CIDR is ready" {
		t.Errorf("the range is %+v", r)
	}
	if got := w.addresses(t); !maps.Equal(got, map[string]string{"10.0.0.1": "default/kubernetes"}) {
		t.Errorf("the addresses are %v", got)
	}
}

// The server creates the default range again after its deletion, also while no controller runs, so that services still
// get addresses although there is another range that is full.
func TestDeletedDefaultRangeIsRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		synctest.Wait()
		ranges := w.clients.NetworkingV1().ServiceCIDRs()
		before := must(ranges.Get(t.Context(), "kubernetes", metav1.GetOptions{}))(t)
		w.create(t, rangesPath, `{"metadata":{"name":"small"},"spec":{"cidrs":["10.9.0.0/30"]}}`)
		if err := ranges.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		after := must(ranges.Get(t.Context(), "kubernetes", metav1.GetOptions{}))(t)
		if after.UID == before.UID || !slices.Equal(after.Spec.CIDRs, before.Spec.CIDRs) ||
			len(after.Status.Conditions) != 1 || after.Status.Conditions[0].Status != metav1.ConditionTrue {
			t.Errorf("the range is %+v, was %+v", after, before)
		}
		for i := range 10 {
			if err := w.createService(t, fmt.Sprint("s-", i), ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The IPAddress of a service exists exactly as long as the service has the address.
func TestIPAddressFollowsService(t *testing.T) {
	t.Parallel()
	w := start(t)
	services := w.clients.CoreV1().Services("default")
	watch := must(w.clients.NetworkingV1().IPAddresses().Watch(t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=10.0.0.99", ResourceVersion: "0"}))(t)
	defer watch.Stop()
	expect := func(event string) *networkingv1.IPAddress {
		t.Helper()
		e := <-watch.ResultChan()
		if string(e.Type) != event {
			t.Fatalf("the event is %s, want %s", e.Type, event)
		}
		return e.Object.(*networkingv1.IPAddress)
	}
	s := must(services.Create(t.Context(), at("a", "10.0.0.99"), metav1.CreateOptions{}))(t)
	ip := expect("ADDED")
	if want := (networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "a"}); ip.ResourceVersion !=
		s.ResourceVersion || *ip.Spec.ParentRef != want || ip.UID == "" || ip.CreationTimestamp.IsZero() ||
		!maps.Equal(ip.Labels, map[string]string{"ipaddress.kubernetes.io/ip-family": "IPv4",
			"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}) {
		t.Errorf("the IPAddress of %+v is %+v", s, ip)
	}
	_, err := services.Patch(t.Context(), "a", types.MergePatchType, []byte(
		`{"spec":{"type":"ExternalName","externalName":"example.com","clusterIP":"","clusterIPs":null}}`),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect("DELETED")
	_, err = services.Patch(t.Context(), "a", types.MergePatchType, []byte(
		`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.99"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect("ADDED")
	if err := services.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("DELETED")
}

// The field ownership of a service's IPAddress is that of the same object from a client.
func TestIPAddressOwnership(t *testing.T) {
	t.Parallel()
	w := start(t)
	if err := w.createService(t, "a", "10.0.0.99"); err != nil {
		t.Fatal(err)
	}
	w.create(t, addressesPath+"?fieldManager=kube-apiserver", strings.Replace(`{"apiVersion":"networking.k8s.io/v1",
		"kind":"IPAddress","metadata":{"name":"10.0.0.98","labels":{"ipaddress.kubernetes.io/ip-family":"IPv4",
		"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},
		"spec":{"parentRef":{"resource":"services","namespace":"default","name":"a"}}}`, "\n", "", -1))
	w.get(t, addressesPath+"/10.0.0.99").owned(t, w.get(t, addressesPath+"/10.0.0.98").owners(t)...)
}

// The errors of addresses have Kubernetes' texts and codes.
func TestAddressErrors(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, addressesPath, `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.0.0.50"},
		"spec":{"parentRef":{"group":"gateway.example.com","resource":"gateways","name":"g"}}}`)
	for address, message := range map[string]string{
		"10.0.0.50":  "provided IP is already allocated", // by a user's IPAddress
		"10.0.0.1":   "provided IP is already allocated",
		"10.0.1.1":   "the provided network does not match the current range",
		"10.0.0.0":   "the provided network does not match the current range",
		"10.0.0.255": "the provided network does not match the current range",
	} {
		err := w.createService(t, "s", address)
		want := fmt.Sprintf("Service \"s\" is invalid: spec.clusterIPs: Invalid value: [\"%s\"]: failed to allocate IP %s: %s",
			address, address, message)
		if !apierrors.IsInvalid(err) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", address, err, want)
		}
	}
	w.send(t, http.MethodDelete, addressesPath+"/10.0.0.50", "").want(t, http.StatusOK)
	if err := w.createService(t, "s", "10.0.0.50"); err != nil {
		t.Errorf("an address that is free again: %v", err)
	}
	for i := range 252 {
		if err := w.createService(t, fmt.Sprint("s", i), ""); err != nil {
			t.Fatal(i, err)
		}
	}
	err := w.createService(t, "late", "")
	const want = `Internal error occurred: failed to allocate a serviceIP for Service "late": range is full`
	if !apierrors.IsInternalError(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	w.checkAddresses(t)
}

// An IPAddress that a client deletes while a service uses the address is created again, and nobody gets the address
// meanwhile.
func TestDeletedIPAddressIsRestored(t *testing.T) {
	t.Parallel()
	w := start(t)
	if err := w.createService(t, "a", "10.0.0.99"); err != nil {
		t.Fatal(err)
	}
	before := must(w.clients.NetworkingV1().IPAddresses().Get(t.Context(), "10.0.0.99", metav1.GetOptions{}))(t)
	concurrently(t, 20, func(ctx context.Context, i int) error {
		if i%2 == 0 {
			err := w.clients.NetworkingV1().IPAddresses().Delete(ctx, "10.0.0.99", metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) { // another one has just deleted it
				return nil
			}
			return err
		}
		for n := range 20 {
			_, err := w.clients.CoreV1().Services("default").Create(ctx, at(fmt.Sprintf("b-%d-%d", i, n), "10.0.0.99"),
				metav1.CreateOptions{})
			if !apierrors.IsInvalid(err) {
				return fmt.Errorf("create with the address of another service: %w", err)
			}
		}
		return nil
	})
	w.send(t, http.MethodDelete, addressesPath, "").want(t, http.StatusOK)
	after := must(w.clients.NetworkingV1().IPAddresses().Get(t.Context(), "10.0.0.99", metav1.GetOptions{}))(t)
	if after.UID == before.UID {
		t.Error("the IPAddress was not deleted")
	}
	w.checkAddresses(t)
}

// 100 creators on two servers use up a range exactly, and deletes release the addresses.
func TestRangeIsUsedUpExactly(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	var planes []*testPlane
	for range 2 {
		planes = append(planes, start(t, func(o *bowline.Options) { o.Storage = journal.Open() }))
	}
	for round := range 2 {
		var mu sync.Mutex
		made := 0
		concurrently(t, 100, func(ctx context.Context, i int) error {
			for n := 0; ; n++ {
				_, err := planes[i%2].clients.CoreV1().Services("default").Create(ctx,
					at(fmt.Sprintf("s-%d-%d-%d", round, i, n), ""), metav1.CreateOptions{})
				if apierrors.IsInternalError(err) && strings.HasSuffix(err.Error(), "range is full") {
					return nil
				}
				if err != nil {
					return err
				}
				mu.Lock()
				made++
				mu.Unlock()
			}
		})
		if want := 253; made != want {
			t.Errorf("%d addresses were assigned, want %d", made, want)
		}
		planes[0].checkAddresses(t)
		planes[0].send(t, http.MethodDelete, servicesPath, "").want(t, http.StatusOK)
		for _, w := range planes { // the API's service was deleted too
			if got := w.addresses(t); len(got) > 0 {
				t.Errorf("after the deletion of all services, there are %v", got)
			}
		}
		if err := planes[0].createService(t, fmt.Sprint("first-", round), "10.0.0.1"); err != nil {
			t.Error(err)
		}
	}
}

// A range is used unless it is not ready or being deleted.
func TestRangesInUse(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, rangesPath, `{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"more",
		"finalizers":["example.com/hold"]},"spec":{"cidrs":["10.9.0.0/28"]}}`)
	ready := func(status string) {
		w.send(t, http.MethodPatch, rangesPath+"/more/status", `{"status":{"conditions":[{"type":"Ready","status":"`+status+
			`","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, "Content-Type", mergeType).
			want(t, http.StatusOK)
	}
	expect := func(what, address string, ok bool) {
		t.Helper()
		if err := w.createService(t, "s"+address[strings.LastIndex(address, ".")+1:], address); (err == nil) != ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect("no condition", "10.9.0.1", true)
	ready("False")
	expect("not ready", "10.9.0.2", false)
	ready("True")
	expect("ready", "10.9.0.3", true)
	w.send(t, http.MethodDelete, rangesPath+"/more", "").want(t, http.StatusOK)
	expect("being deleted", "10.9.0.4", false)
	w.send(t, http.MethodDelete, rangesPath+"/kubernetes", "").want(t, http.StatusOK)
	expect("the only one is being deleted", "10.0.0.5", false)
	w.send(t, http.MethodPatch, rangesPath+"/more", `{"metadata":{"finalizers":null}}`, "Content-Type", mergeType).
		want(t, http.StatusOK)
	expect("none, so the default range is used", "10.0.0.6", true)
	w.checkAddresses(t)
}

// While ranges are created and deleted, each service has an address of a range that exists.
func TestRangesChangeUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(o *bowline.Options) { o.Controllers = []string{"service-cidr-controller"} })
		services, ranges := w.clients.CoreV1().Services("default"), w.clients.NetworkingV1().ServiceCIDRs()
		for i := range 240 { // so that most addresses come from the other range
			if err := w.createService(t, fmt.Sprint("full-", i), ""); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var writers sync.WaitGroup
		far := map[string]int{}
		var mu sync.Mutex
		for i := range 10 {
			writers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					name := fmt.Sprintf("s-%d-%d", i, n)
					s, err := services.Create(t.Context(), at(name, ""), metav1.CreateOptions{})
					if err == nil {
						mu.Lock()
						far[s.Spec.ClusterIP[:strings.LastIndex(s.Spec.ClusterIP, ".")]]++
						mu.Unlock()
						time.Sleep(time.Duration(1+(i+n)%7) * time.Second)
						err = services.Delete(t.Context(), name, metav1.DeleteOptions{})
					}
					if err != nil && !apierrors.IsInternalError(err) { // the range is full
						t.Error(err)
						return
					}
					time.Sleep(time.Second)
				}
			})
		}
		for n := range 10 {
			r := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("more-", n%2)}}
			r.Spec.CIDRs = []string{fmt.Sprintf("10.9.%d.0/28", n%2)}
			must(ranges.Create(t.Context(), r, metav1.CreateOptions{}))(t)
			time.Sleep(20 * time.Second)
			if err := ranges.Delete(t.Context(), r.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			for gone := false; !gone; time.Sleep(time.Second) {
				w.checkCovered(t)
				_, err := ranges.Get(t.Context(), r.Name, metav1.GetOptions{})
				gone = apierrors.IsNotFound(err)
			}
		}
		cancel()
		writers.Wait()
		w.checkCovered(t)
		w.checkAddresses(t)
		if far["10.9.0"] == 0 || far["10.9.1"] == 0 {
			t.Errorf("the addresses come from %v", far)
		}
	})
}

// checkCovered checks that each service has an address of a range that exists, in one state of the server.
func (w *testPlane) checkCovered(t testing.TB) {
	t.Helper()
	services := must(w.clients.CoreV1().Services("").List(t.Context(), metav1.ListOptions{}))(t)
	ranges := must(w.clients.NetworkingV1().ServiceCIDRs().List(t.Context(), metav1.ListOptions{
		ResourceVersion: services.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}))(t)
	covered := map[string]bool{}
	for _, r := range ranges.Items {
		covered[strings.TrimSuffix(strings.TrimSuffix(r.Spec.CIDRs[0], ".0/24"), ".0/28")] = true
	}
	for _, s := range services.Items {
		if ip := s.Spec.ClusterIP; !covered[ip[:strings.LastIndex(ip, ".")]] {
			t.Errorf("%s has the address %s, of no range", s.Name, ip)
		}
	}
}

// oldRecord is the claim of an address as servers without IPAddresses stored it.
func oldRecord(t *testing.T, address, owner string) store.Change {
	t.Helper()
	key := object.Key("claims.internal/serviceips//" + address)
	e, err := object.NewEncoding(object.Form{APIVersion: "claims.internal/v1"}, fmt.Appendf(nil, `{"kind":"Claim",`+
		`"apiVersion":"claims.internal/v1","metadata":{"name":%q,"resourceVersion":"0000000000000000",`+
		`"annotations":{"owner":%q}}}`, address, owner))
	if err != nil {
		t.Fatal(err)
	}
	return store.Change{Key: key, Object: object.New(object.Header{Key: key}, nil, e)}
}

// oldState is the state of a server without IPAddresses. Its services are kubernetes, a and b; the claim of lost is
// missing, a user has made an IPAddress with the address of user, and the service of gone does not exist.
func oldState(t *testing.T) *storetest.Journal {
	t.Helper()
	journal := storetest.NewJournal()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers},
		Storage: journal.Open()})
	if err != nil {
		t.Fatal(err)
	}
	w := &testPlane{Plane: plane}
	w.connect(t, w.RESTConfig())
	for name, address := range map[string]string{"a": "10.0.0.11", "b": "10.0.0.12", "lost": "10.0.0.13",
		"user": "10.0.0.14"} {
		if err := w.createService(t, name, address); err != nil {
			t.Fatal(err)
		}
	}
	if err := plane.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := store.New(t.Context(), journal.Open(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for address, owner := range map[string]string{"10.0.0.1": "default/kubernetes", "10.0.0.11": "default/a",
		"10.0.0.12": "default/b", "10.0.0.13": "", "10.0.0.14": "default/user", "10.0.0.15": "default/gone"} {
		if address == "10.0.0.14" {
			edit(t, s, object.Key("networking.k8s.io/ipaddresses//"+address), "\x22\x04user", "\x22\x04else")
		} else {
			put(t, s, store.Change{Key: object.Key("networking.k8s.io/ipaddresses//" + address)})
		}
		if owner != "" {
			put(t, s, oldRecord(t, address, owner))
		}
	}
	put(t, s, store.Change{Key: "networking.k8s.io/servicecidrs//kubernetes"})
	return journal
}

// A start converts the claims of an earlier version.
func TestOldClaimsAreConverted(t *testing.T) {
	t.Parallel()
	journal := oldState(t)
	for range 2 {
		w := start(t, func(o *bowline.Options) { o.Storage = journal.Open() })
		want := map[string]string{"10.0.0.1": "default/kubernetes", "10.0.0.11": "default/a", "10.0.0.12": "default/b",
			"10.0.0.13": "default/lost", "10.0.0.14": "default/else"}
		if got := w.addresses(t); !maps.Equal(got, want) {
			t.Errorf("the IPAddresses are %v, want %v", got, want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w := start(t, func(o *bowline.Options) { o.Storage = journal.Open() })
	checkOldClaims(t, w)
	w.send(t, http.MethodDelete, servicesPath+"/user", "").want(t, http.StatusOK)
	if err := w.createService(t, "next", "10.0.0.14"); err != nil {
		t.Error(err)
	}
	w.checkAddresses(t)
}

// A plane that converts nothing, such as a fork, respects the claims of an earlier version.
func TestOldClaimsAreRespected(t *testing.T) {
	t.Parallel()
	journal := oldState(t)
	w := start(t, func(o *bowline.Options) { o.Storage, o.SkipBootstrap = journal.Open(), true })
	if got := w.addresses(t); len(got) != 1 {
		t.Errorf("the IPAddresses are %v, want those before the start", got)
	}
	checkOldClaims(t, w)
}

// checkOldClaims checks that the addresses of the old state are taken until their services are deleted.
func checkOldClaims(t *testing.T, w *testPlane) {
	t.Helper()
	for _, address := range []string{"10.0.0.1", "10.0.0.11", "10.0.0.12", "10.0.0.14", "10.0.0.15"} {
		if err := w.createService(t, "x", address); !apierrors.IsInvalid(err) {
			t.Errorf("create with the address %s: %v", address, err)
		}
	}
	w.send(t, http.MethodDelete, servicesPath+"/a", "").want(t, http.StatusOK)
	if err := w.createService(t, "again", "10.0.0.11"); err != nil {
		t.Error(err)
	}
	concurrently(t, 50, func(ctx context.Context, i int) error {
		_, err := w.clients.CoreV1().Services("default").Create(ctx, at(fmt.Sprint("many-", i), ""), metav1.CreateOptions{})
		return err
	})
	w.used(t)
}
