// Package daemonset is the controller that has a pod of a template on each node, or on each that the template is for: what
// collects logs, watches over the node or brings its network up. It says itself which node a pod is for, and leaves it to the
// scheduler to bring it there. Another template goes from node to node, with what was before kept as revisions.
//
// decide.go is what it does, of nothing but what was seen; place.go says which nodes, node.go what about one, roll.go how another
// template comes to them, taken.go what about pods that somebody takes away, status.go how far all that is; sure.go asks about
// a node before something is done on its account. Package sets carries it out.
package daemonset

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/sets"
)

// Name of the controller, as --controllers takes it.
const Name = "daemonset"

var (
	kind          = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	resource      = appsv1.SchemeGroupVersion.WithResource("daemonsets")
	nodesResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := informer.For[*appsv1.DaemonSet](m.Informers(), resource)
	nodes := informer.For[*corev1.Node](m.Informers(), nodesResource)
	moves := controller.If(func(old, now *corev1.Node) bool { return old == nil || now == nil || !samePlace(old, now) })
	return sets.Keep(m, sets.Kept[*appsv1.DaemonSet, appsv1.DaemonSetStatus]{
		Name: Name, Component: "daemonset-controller", In: resource, Kind: kind, Workers: 2,
		Selector: func(set *appsv1.DaemonSet) *metav1.LabelSelector { return set.Spec.Selector },
		Status:   func(set *appsv1.DaemonSet) *appsv1.DaemonSetStatus { return &set.Status },
		Decide: func(s sets.Seen[*appsv1.DaemonSet]) (Plan, error) {
			sorted := slices.Clone(nodes.Indexer().List())
			slices.SortFunc(sorted, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
			return Decide(Seen{s, sorted})
		},
	}, controller.Watches(nodes, func(*corev1.Node) (requests []controller.Request) {
		for set := range all.Indexer().All() { // each may be for a node that has come or become another
			requests = append(requests, informer.KeyOf(set))
		}
		return requests
	}, moves))
}
