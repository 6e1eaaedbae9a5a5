//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpointslicemirroring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// observed returns an input with a service without a selector and its Endpoints.
func observed(subsets ...corev1.EndpointSubset) Input {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "e"}
	return Input{
		Key:       types.NamespacedName{Namespace: "default", Name: "web"},
		Service:   &corev1.Service{ObjectMeta: meta},
		Endpoints: &corev1.Endpoints{ObjectMeta: meta, Subsets: subsets},
		NameTaken: func(string) bool { return false },
	}
}

// addresses returns n addresses from 10.x.0.0 on.
func addresses(x, n int) (all []corev1.EndpointAddress) {
	for i := range n {
		all = append(all, corev1.EndpointAddress{IP: fmt.Sprintf("10.%d.%d.%d", x, i/250, i%250)})
	}
	return all
}

// describeAll returns one line per action.
func describeAll(actions []action.Action) string {
	var all []string
	for _, a := range actions {
		switch a := a.(type) {
		case action.Create[*discoveryv1.EndpointSlice]:
			all = append(all, "create "+describe(a.Object))
		case action.Update[*discoveryv1.EndpointSlice]:
			all = append(all, "update "+describe(a.Object))
		default:
			all = append(all, a.String())
		}
	}
	return strings.Join(all, "\n")
}

// describe returns the family of a slice, its ports and its endpoints or, if there are many, their number.
func describe(slice *discoveryv1.EndpointSlice) string {
	var parts []string
	for _, p := range slice.Ports {
		parts = append(parts, fmt.Sprintf("%s:%d", *p.Name, *p.Port))
	}
	if len(slice.Endpoints) > 9 {
		parts = append(parts, fmt.Sprintf("%d endpoints", len(slice.Endpoints)))
	} else {
		for _, e := range slice.Endpoints {
			parts = append(parts, fmt.Sprintf("%s=%t", e.Addresses[0], *e.Conditions.Ready))
		}
	}
	return fmt.Sprintf("%s %s", slice.AddressType, strings.Join(parts, " "))
}

func TestSubsets(t *testing.T) {
	t.Parallel()
	port := func(name string, number int32) []corev1.EndpointPort {
		return []corev1.EndpointPort{{Name: name, Port: number, Protocol: corev1.ProtocolTCP}}
	}
	for _, c := range []struct {
		name    string
		subsets []corev1.EndpointSubset
		want    string
	}{
		{"none", nil, ""},
		{"without ports", []corev1.EndpointSubset{{Addresses: addresses(1, 2)}},
			"create IPv4 10.1.0.0=true 10.1.0.1=true"},
		{"an address that is ready and not ready", []corev1.EndpointSubset{
			{Addresses: addresses(1, 2), Ports: port("a", 80)},
			{NotReadyAddresses: addresses(1, 1), Ports: port("a", 80)},
		}, "create IPv4 a:80 10.1.0.1=true 10.1.0.0=false"},
		{"equal addresses, but not equally ready", []corev1.EndpointSubset{
			{Addresses: addresses(1, 1), Ports: port("a", 80)},
			{NotReadyAddresses: addresses(1, 1), Ports: port("b", 81)},
		}, "create IPv4 a:80 10.1.0.0=true\ncreate IPv4 b:81 10.1.0.0=false"},
		{"an irregular address", []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{{IP: "010.1.0.1"}, {IP: "::ffff:10.1.0.2"}, {IP: "2001:DB8::1"}}},
		}, "create IPv4 10.1.0.1=true 10.1.0.2=true\ncreate IPv6 2001:db8::1=true"},
		{"two spellings of an address", []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{{IP: "10.1.0.01"}, {IP: "10.1.0.1"}}},
		}, "create IPv4 10.1.0.1=true"},
		{"invalid addresses", []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{{IP: "nothing"}, {IP: "10.1.0.1"}}},
		}, "event InvalidIPAddress on web: Skipped 1 invalid IP addresses when mirroring to EndpointSlices\n" +
			"create IPv4 10.1.0.1=true"},
		{"a thousand addresses", []corev1.EndpointSubset{{Addresses: addresses(1, 1000)}},
			"create IPv4 1000 endpoints"},
		{"too many addresses in one subset", []corev1.EndpointSubset{
			{Addresses: addresses(1, 998), NotReadyAddresses: addresses(2, 5), Ports: port("a", 80)},
			{Addresses: addresses(3, 10), Ports: port("b", 81)},
		}, "event TooManyAddressesToMirror on web: A max of 1000 addresses can be mirrored to EndpointSlices per " +
			"Endpoints subset. 3 addresses were skipped\n" +
			"create IPv4 a:80 1000 endpoints\ncreate IPv4 b:81 10 endpoints"},
	} {
		got := strings.Replace(describeAll(Decide(observed(c.subsets...))), "check that 1 endpoints are unchanged\n", "", 1)
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// created returns the slices that a decision creates.
func created(actions []action.Action) (found []*discoveryv1.EndpointSlice) {
	for _, a := range actions {
		if c, ok := a.(action.Create[*discoveryv1.EndpointSlice]); ok {
			found = append(found, c.Object)
		}
	}
	return found
}

// A slice is written again only if one of the fields that the controller determines differs.
func TestUnchangedSlicesAreNotWritten(t *testing.T) {
	t.Parallel()
	s := observed(corev1.EndpointSubset{Addresses: addresses(1, 3)})
	s.Endpoints.Subsets[0].Addresses[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: "p", ResourceVersion: "1"}
	s.Slices = created(Decide(s))
	for _, c := range []struct {
		name    string
		change  func(slice *discoveryv1.EndpointSlice)
		changed bool
	}{
		{"nothing", func(*discoveryv1.EndpointSlice) {}, false},
		{"order", func(slice *discoveryv1.EndpointSlice) { slices.Reverse(slice.Endpoints) }, false},
		{"version of the target", func(slice *discoveryv1.EndpointSlice) {
			for i := range slice.Endpoints {
				if ref := slice.Endpoints[i].TargetRef; ref != nil {
					ref.ResourceVersion = "2"
				}
			}
		}, false},
		{"hints", func(slice *discoveryv1.EndpointSlice) {
			slice.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}}
		}, false},
		{"readiness", func(slice *discoveryv1.EndpointSlice) { *slice.Endpoints[1].Conditions.Ready = false }, true},
		{"endpoint", func(slice *discoveryv1.EndpointSlice) { slice.Endpoints = slice.Endpoints[1:] }, true},
		{"label", func(slice *discoveryv1.EndpointSlice) { slice.Labels["extra"] = "x" }, true},
		{"annotation", func(slice *discoveryv1.EndpointSlice) { slice.Annotations["extra"] = "x" }, true},
		{"earlier Endpoints", func(slice *discoveryv1.EndpointSlice) { slice.OwnerReferences[0].UID = "earlier" }, true},
	} {
		changed := s
		changed.Slices = []*discoveryv1.EndpointSlice{s.Slices[0].DeepCopy()}
		c.change(changed.Slices[0])
		want := ""
		if c.changed {
			want = "check that 1 endpoints are unchanged\nupdate IPv4 10.1.0.0=true 10.1.0.1=true 10.1.0.2=true"
		}
		if got := describeAll(Decide(changed)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// Two slices with equal ports, which two instances may have created, become one.
func TestSurplusSlicesAreDeleted(t *testing.T) {
	t.Parallel()
	s := observed(corev1.EndpointSubset{Addresses: addresses(1, 3)})
	s.Slices = created(Decide(s))
	second := s.Slices[0].DeepCopy()
	second.Name = s.Slices[0].Name + "z"
	s.Slices = append(s.Slices, second)
	want := "check that 1 endpoints are unchanged\ndelete endpointslice/" + second.Name
	if got := describeAll(Decide(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Endpoints that wait for a finalizer keep their slices and get no new ones.
func TestDeletedEndpointsGetNoSlices(t *testing.T) {
	t.Parallel()
	s := observed(corev1.EndpointSubset{Addresses: addresses(1, 1)})
	s.Endpoints.DeletionTimestamp = &metav1.Time{}
	if got := describeAll(Decide(s)); got != "" {
		t.Errorf("got\n%s\nwant no actions", got)
	}
}

// Before slices are deleted, the server confirms the reason.
func TestDeletionsAreConfirmed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(s *Input)
		check  string
	}{
		{"no Endpoints", func(s *Input) { s.Endpoints = nil }, "check that endpoint/web does not exist"},
		{"no Service", func(s *Input) { s.Service = nil }, "check that service/web does not exist"},
		{"a selector", func(s *Input) { s.Service.Spec.Selector = map[string]string{"app": "web"} },
			"check that 1 services are unchanged"},
		{"the label", func(s *Input) { s.Endpoints.Labels = map[string]string{discoveryv1.LabelSkipMirror: "true"} },
			"check that 1 endpoints are unchanged"},
		{"no addresses", func(s *Input) { s.Endpoints.Subsets = nil }, "check that 1 endpoints are unchanged"},
	} {
		s := observed(corev1.EndpointSubset{Addresses: addresses(1, 1)})
		s.Slices = created(Decide(s))
		want := c.check + "\ndelete endpointslice/" + s.Slices[0].Name
		c.change(&s)
		if got := describeAll(Decide(s)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}
