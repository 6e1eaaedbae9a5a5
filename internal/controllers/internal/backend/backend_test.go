package backend

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodChanged reports exactly the changes of a pod that change endpoints.
func TestPodChanged(t *testing.T) {
	t.Parallel()
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "default", UID: "one"}}
	old.Labels = map[string]string{"app": "web"}
	for name, change := range map[string]func(*corev1.Pod){
		"new pod of the same name": func(p *corev1.Pod) { p.UID = "two" },
		"labels":                   func(p *corev1.Pod) { p.Labels = nil },
		"deletion":                 func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} },
		"phase":                    func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"address":                  func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.1"}} },
		"node":                     func(p *corev1.Pod) { p.Spec.NodeName = "n" },
		"ready": func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		},
	} {
		now := old.DeepCopy()
		if change(now); !PodChanged(old, now) {
			t.Errorf("%s: got false, want true", name)
		}
	}
	now := old.DeepCopy()
	now.Annotations, now.Status.Message, now.ResourceVersion = map[string]string{"a": "b"}, "message", "2"
	if PodChanged(old, now) {
		t.Error("annotation and status message: got true, want false")
	}
}

// Addresses are parsed as leniently as by the API and returned in canonical form.
func TestAddresses(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	for _, ip := range []string{"010.1.0.01", "2001:DB8:0::1", "::ffff:10.1.0.2", "fe80::1%eth0", "nothing", ""} {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	for family, want := range map[corev1.IPFamily][]string{
		corev1.IPv4Protocol: {"10.1.0.1", "10.1.0.2"}, corev1.IPv6Protocol: {"2001:db8::1"},
	} {
		if got := Addresses(pod, family); !slices.Equal(got, want) {
			t.Errorf("%s: got addresses %q, want %q", family, got, want)
		}
	}
}

// Services that predate dual stack have no ipFamilies.
func TestFamiliesOfSingleStackServices(t *testing.T) {
	t.Parallel()
	both := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	for ip, want := range map[string][]corev1.IPFamily{"10.0.0.1": both[:1], "fd00::1": both[1:], "None": both,
		"": both} {
		service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: ip}}
		if got := Families(service); !slices.Equal(got, want) {
			t.Errorf("cluster IP %q: got families %v, want %v", ip, got, want)
		}
	}
}

// An empty selector selects no pods, because it is stored as none.
func TestEmptySelectorSelectsNoPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec corev1.ServiceSpec
		want bool
	}{
		{corev1.ServiceSpec{}, false},
		{corev1.ServiceSpec{Selector: map[string]string{}}, false},
		{corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}, true},
		{corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Type: corev1.ServiceTypeExternalName}, false},
	} {
		if got := HasSelector(&corev1.Service{Spec: c.spec}); got != c.want {
			t.Errorf("%+v: got %t, want %t", c.spec, got, c.want)
		}
	}
}
