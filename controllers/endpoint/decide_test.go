//lint:file-ignore SA1019 Kubernetes keeps its deprecated endpoints still

package endpoint

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controllers/action"
)

// Endpoints hold a thousand addresses: who is ready first, and of each subset its part.
func TestTooManyAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ready, notReady [2]int // of two subsets
		wantReady       [2]int
		wantNotReady    [2]int
		over            bool
	}{
		{[2]int{500, 0}, [2]int{0, 500}, [2]int{500, 0}, [2]int{0, 500}, false},
		{[2]int{600, 300}, [2]int{100, 100}, [2]int{600, 300}, [2]int{50, 50}, true},
		{[2]int{1500, 500}, [2]int{10, 10}, [2]int{750, 250}, [2]int{0, 0}, true},
		{[2]int{1001, 2}, [2]int{0, 0}, [2]int{999, 1}, [2]int{0, 0}, true}, // rounded up, and the last gets less
	} {
		var all []corev1.EndpointSubset
		for i := range c.ready {
			all = append(all, corev1.EndpointSubset{Addresses: addresses(c.ready[i]), NotReadyAddresses: addresses(c.notReady[i])})
		}
		got, over := bounded(all)
		for i := range got {
			if len(got[i].Addresses) != c.wantReady[i] || len(got[i].NotReadyAddresses) != c.wantNotReady[i] || over != c.over {
				t.Errorf("%v ready and %v not: subset %d has %d and %d, over %t", c.ready, c.notReady, i,
					len(got[i].Addresses), len(got[i].NotReadyAddresses), over)
			}
		}
	}
}

func addresses(n int) (all []corev1.EndpointAddress) {
	for i := range n {
		all = append(all, corev1.EndpointAddress{IP: fmt.Sprint(i)})
	}
	return all
}

// What is asked for is decided the same whatever else there is: the second decision of the same is none.
func TestNothingIsWrittenTwice(t *testing.T) {
	t.Parallel()
	s := Seen{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Labels: map[string]string{"a": "b"}}}}
	s.Service.Spec.Selector = map[string]string{"app": "web"}
	s.Service.Spec.ClusterIP = corev1.ClusterIPNone
	for i := range 1200 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: "default"}}
		pod.Spec.NodeName = "n"
		pod.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}}
		s.Pods = append(s.Pods, pod)
	}
	first := Decide(s)
	if len(first) != 1 {
		t.Fatal(first)
	}
	s.Endpoints = first[0].(action.Create[*corev1.Endpoints]).Object
	if n := len(s.Endpoints.Subsets[0].NotReadyAddresses); n != most || s.Endpoints.Annotations[corev1.EndpointsOverCapacity] != "truncated" {
		t.Errorf("%d addresses, %v", n, s.Endpoints.Annotations)
	}
	if again := Decide(s); len(again) > 0 {
		t.Error(again)
	}
	s.Pods = s.Pods[:1]
	again := Decide(s)
	if len(again) != 1 || again[0].(action.Update[*corev1.Endpoints]).Object.Annotations[corev1.EndpointsOverCapacity] != "" {
		t.Error(again)
	}
}

// Old programs elect their leader by Endpoints without a service.
func TestElectionsStay(t *testing.T) {
	t.Parallel()
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"control-plane.alpha.kubernetes.io/leader": "{}"}}}
	if got := Decide(Seen{Endpoints: e}); len(got) > 0 {
		t.Error(got)
	}
	if got := Decide(Seen{Endpoints: &corev1.Endpoints{}}); len(got) != 1 {
		t.Error(got)
	}
}
