package endpointslice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// fixture is a service with pods and its slices.
type fixture struct {
	Input
}

func newFixture() *fixture {
	w := &fixture{}
	w.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "s"}}
	w.Service.Spec.ClusterIP = "10.0.0.1"
	w.Service.Spec.Selector = map[string]string{"app": "web"}
	w.Service.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80),
		Protocol: corev1.ProtocolTCP}}
	w.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	w.Node = func(name string) *corev1.Node { return &corev1.Node{} }
	w.NameTaken = func(name string) bool {
		return slices.ContainsFunc(w.Slices, func(s *discoveryv1.EndpointSlice) bool { return s.Name == name })
	}
	return w
}

// pods sets the pods to those numbered from from to to-1.
func (w *fixture) pods(from, to int) {
	w.Pods = nil
	for i := from; i < to; i++ {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%04d", i), Namespace: "default"}}
		ip := fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)
		pod.Status.Phase, pod.Status.PodIPs = corev1.PodRunning, []corev1.PodIP{{IP: ip}}
		w.Pods = append(w.Pods, pod)
	}
}

// converge executes decisions until there is nothing left to do, and returns the sizes of the slices and the
// number of actions.
func (w *fixture) converge(t *testing.T) string {
	t.Helper()
	did := map[string]int{}
	for range 10 {
		actions := Decide(w.Input)
		if len(actions) == 0 {
			var lengths []int
			for _, s := range w.Slices {
				lengths = append(lengths, len(s.Endpoints))
			}
			slices.Sort(lengths)
			return fmt.Sprintf("%v create %d update %d delete %d", lengths, did["create"], did["update"], did["delete"])
		}
		for _, a := range actions {
			verb, _, _ := strings.Cut(a.String(), " ")
			did[verb]++
			w.do(t, a)
		}
	}
	t.Fatal("after 10 decisions: got further actions, want none")
	return ""
}

func (w *fixture) do(t *testing.T, a action.Action) {
	named := func(name string) func(s *discoveryv1.EndpointSlice) bool {
		return func(s *discoveryv1.EndpointSlice) bool { return s.Name == name }
	}
	switch a := a.(type) {
	case action.Create[*discoveryv1.EndpointSlice]:
		if w.NameTaken(a.Object.Name) {
			t.Fatalf("creating slice %s: the name is in use", a.Object.Name)
		}
		w.Slices = append(w.Slices, a.Object)
	case action.Update[*discoveryv1.EndpointSlice]:
		w.Slices[slices.IndexFunc(w.Slices, named(a.Object.Name))] = a.Object
	case action.Delete[*discoveryv1.EndpointSlice]:
		w.Slices = slices.DeleteFunc(w.Slices, named(a.Object.Name))
	case action.Unchanged[*corev1.Service]:
	default:
		t.Fatal(a)
	}
}

// Each changed slice is sent to every node, so as few as possible change.
func TestFewSlicesChange(t *testing.T) {
	t.Parallel()
	w := newFixture()
	for _, step := range []struct {
		from, to int
		want     string
	}{
		{0, 0, "[0] create 1 update 0 delete 0"},
		{0, 100, "[100] create 0 update 1 delete 0"},
		{0, 250, "[50 100 100] create 2 update 0 delete 0"},
		{0, 260, "[60 100 100] create 0 update 1 delete 0"},
		{50, 260, "[50 60 100] create 0 update 1 delete 0"},
		{50, 300, "[50 100 100] create 0 update 1 delete 0"}, // the slice that they fill best
		{0, 0, "[0] create 0 update 1 delete 2"},
	} {
		w.pods(step.from, step.to)
		if got := w.converge(t); got != step.want {
			t.Errorf("pods %d to %d: got %s, want %s", step.from, step.to, got, step.want)
		}
		if len(Decide(w.Input)) > 0 {
			t.Errorf("pods %d to %d: got actions on an unchanged service, want none", step.from, step.to)
		}
	}
}

// Each pod is in exactly one slice, whatever the history.
func TestEachPodIsInOneSlice(t *testing.T) {
	t.Parallel()
	w := newFixture()
	for _, step := range [][2]int{{0, 130}, {60, 190}, {10, 400}, {399, 400}, {0, 205}} {
		w.pods(step[0], step[1])
		w.converge(t)
		slicesOf := map[string]int{}
		for _, s := range w.Slices {
			for _, e := range s.Endpoints {
				slicesOf[e.TargetRef.Name]++
			}
			if len(s.Endpoints) > maxEndpoints {
				t.Errorf("slice %s: got %d endpoints, want at most %d", s.Name, len(s.Endpoints), maxEndpoints)
			}
		}
		for _, pod := range w.Pods {
			if slicesOf[pod.Name] != 1 {
				t.Errorf("pods %d to %d: got %s in %d slices, want 1", step[0], step[1], pod.Name, slicesOf[pod.Name])
			}
		}
		if len(slicesOf) != len(w.Pods) {
			t.Errorf("pods %d to %d: got endpoints of %d pods, want %d", step[0], step[1], len(slicesOf), len(w.Pods))
		}
	}
}

// A service with two IP families has slices of each, and loses those of a family that it gives up.
func TestDualStackSlices(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	w.pods(0, 2)
	w.Pods[0].Status.PodIPs = append(w.Pods[0].Status.PodIPs, corev1.PodIP{IP: "2001:db8::1"})
	w.converge(t)
	count := map[discoveryv1.AddressType]int{}
	for _, s := range w.Slices {
		count[s.AddressType] += len(s.Endpoints)
	}
	if count["IPv4"] != 2 || count["IPv6"] != 1 || len(w.Slices) != 2 {
		t.Errorf("got endpoints %v in %d slices, want 2 of IPv4 and 1 of IPv6 in 2 slices", count, len(w.Slices))
	}
	w.Service.Spec.IPFamilies = w.Service.Spec.IPFamilies[:1]
	if got := w.converge(t); got != "[2] create 0 update 0 delete 1" {
		t.Error(got)
	}
}

// A service that is recreated under the same name does not adopt the slices of its predecessor.
func TestSlicesOfAPredecessorAreDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.pods(0, 3)
	w.converge(t)
	w.Service = w.Service.DeepCopy()
	w.Service.UID = "another"
	if got := w.converge(t); got != "[3] create 1 update 0 delete 1" {
		t.Error(got)
	}
}

func TestHintsFollowTheTrafficDistribution(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.Node = func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: "z"}}}
	}
	w.pods(0, 1)
	w.Pods[0].Spec.NodeName = "n"
	w.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for distribution, want := range map[string]string{
		"": "nil", "PreferClose": "z ", "PreferSameZone": "z ", "PreferSameNode": "z n", "Unknown": "nil",
	} {
		w.Service.Spec.TrafficDistribution = &distribution
		w.converge(t)
		got := "nil"
		if h := w.Slices[0].Endpoints[0].Hints; h != nil {
			got = h.ForZones[0].Name + " "
			for _, n := range h.ForNodes {
				got += n.Name
			}
		}
		if got != want {
			t.Errorf("traffic distribution %q: got hints %q, want %q", distribution, got, want)
		}
	}
}

// Pods whose node does not exist are reported in one event, and cause no other change.
func TestPodsOnMissingNodesAreReported(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.converge(t)
	w.Node = func(string) *corev1.Node { return nil }
	w.pods(0, 2)
	for _, pod := range w.Pods {
		pod.Spec.NodeName = "n"
	}
	actions := Decide(w.Input)
	if len(actions) != 1 {
		t.Fatal(actions)
	}
	got := actions[0].(action.Event).Message
	const want = "Error updating Endpoint Slices for Service default/web: [" +
		"skipping Pod p0000 for Service default/web: Node n Not Found, " +
		"skipping Pod p0001 for Service default/web: Node n Not Found]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	w.Service.Spec.PublishNotReadyAddresses = true
	if got := w.converge(t); got != "[2] create 0 update 1 delete 0" {
		t.Error(got)
	}
}
