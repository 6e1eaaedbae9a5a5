// Package statefulset implements the StatefulSet controller, which runs pods with stable identities: each has
// an ordinal and, derived from it, a name, a host name and persistent volume claims that survive the
// replacement of the pod. Pods are created in ascending and deleted in descending order, one at a time unless
// the set permits parallel management. A changed template is rolled out in descending order, and earlier
// templates are stored as ControllerRevisions.
//
// Decide, in decide.go, is a pure function of the observed state. ordinal.go derives pods from ordinals,
// claim.go manages the claims, step.go chooses the next step, and status.go computes the status. Package
// podset reads the caches and carries out the plan.
//
// Two pods never have the same ordinal, since they would have the same name.
package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// Name is the controller's name in --controllers.
const Name = "statefulset"

var (
	kind     = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	resource = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := informer.For[*appsv1.StatefulSet](m.Informers(), resource)
	claims := informer.For[*corev1.PersistentVolumeClaim](m.Informers(), claimsResource)
	return podset.Add(m, podset.Config[*appsv1.StatefulSet, appsv1.StatefulSetStatus]{
		Name: Name, Component: "statefulset-controller", Resource: resource, Kind: kind, Workers: 5,
		Selector: func(set *appsv1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector },
		Status:   func(set *appsv1.StatefulSet) *appsv1.StatefulSetStatus { return &set.Status },
		Decide: func(s podset.Observed[*appsv1.StatefulSet]) (Plan, error) {
			return Decide(Observed{s, func(name string) *corev1.PersistentVolumeClaim {
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
