// Package statefulset is the controller of pods that are not alike: each has an ordinal, and with it a name, a host name and
// claims to storage that stay when the pod is made anew. They come in order and go in the reverse order, one after the other,
// and so does another template come to them; what was before is kept as revisions.
//
// decide.go is what it does, of nothing but what was seen: ordinal.go makes the pods, claim.go what they claim, step.go says
// whose turn it is, status.go how far it is. Package sets carries it out.
//
// Two pods of one ordinal can never be: they would have the same name.
package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/sets"
)

// Name of the controller, as --controllers takes it.
const Name = "statefulset"

var (
	kind     = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	resource = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := informer.For[*appsv1.StatefulSet](m.Informers(), resource)
	claims := informer.For[*corev1.PersistentVolumeClaim](m.Informers(), claimsResource)
	return sets.Keep(m, sets.Kept[*appsv1.StatefulSet, appsv1.StatefulSetStatus]{
		Name: Name, Component: "statefulset-controller", In: resource, Kind: kind, Workers: 5,
		Selector: func(set *appsv1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector },
		Status:   func(set *appsv1.StatefulSet) *appsv1.StatefulSetStatus { return &set.Status },
		Decide: func(s sets.Seen[*appsv1.StatefulSet]) (Plan, error) {
			return Decide(Seen{s, func(name string) *corev1.PersistentVolumeClaim {
				claim, _ := claims.Indexer().Get(informer.Key{Namespace: s.Set.Namespace, Name: name})
				return claim
			}})
		},
	}, controller.Watches(claims, func(claim *corev1.PersistentVolumeClaim) (requests []controller.Request) {
		for _, set := range claimsOf(claim.Name, func(set string) bool {
			_, exists := all.Indexer().Get(informer.Key{Namespace: claim.Namespace, Name: set})
			return exists
		}) {
			requests = append(requests, controller.Request{Namespace: claim.Namespace, Name: set})
		}
		return requests
	}))
}
