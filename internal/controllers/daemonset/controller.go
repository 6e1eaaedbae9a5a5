// Package daemonset implements the DaemonSet controller, which runs one pod of a template on every node that
// the template can run on, for example to collect logs, to monitor the node or to set up its network. The
// controller chooses the node of each pod with a node affinity and leaves the binding to the scheduler. It
// rolls a changed template out node by node and stores earlier templates as ControllerRevisions.
//
// Decide, in decide.go, is a pure function of the observed state. eligibility.go matches nodes, node.go decides
// about the pods of one node, roll.go rolls out a template, changes.go collects the changes, and pod_factory.go builds
// pods. pod_loss.go handles pods that are relabeled by someone else, duplicates.go merges equal revisions, status.go
// computes the status, and node_guard.go checks a node with the server before acting on its state. Package podset
// reads the caches and carries out the plan.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// Name is the controller's name in --controllers.
const Name = "daemonset"

var (
	kind          = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	resource      = appsv1.SchemeGroupVersion.WithResource("daemonsets")
	nodesResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	sets := informer.For[*appsv1.DaemonSet](m.Informers(), resource)
	nodes := informer.For[*corev1.Node](m.Informers(), nodesResource)
	matchChanged := controller.If(func(old, now *corev1.Node) bool {
		return old == nil || now == nil || !sameEligibility(old, now)
	})
	return podset.Add(m, podset.Config[*appsv1.DaemonSet, appsv1.DaemonSetStatus]{
		Name: Name, Component: "daemonset-controller", Resource: resource, Kind: kind, Workers: 2,
		Selector: func(set *appsv1.DaemonSet) *metav1.LabelSelector { return set.Spec.Selector },
		Status:   func(set *appsv1.DaemonSet) *appsv1.DaemonSetStatus { return &set.Status },
		Decide: func(s podset.Observed[*appsv1.DaemonSet]) (Plan, error) {
			sorted := slices.Clone(nodes.Indexer().List())
			slices.SortFunc(sorted, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
			return Decide(Observed{s, sorted})
		},
	}, controller.Watches(nodes, func(*corev1.Node) (requests []controller.Request) {
		for set := range sets.Indexer().All() { // a new or changed node can affect every set
			requests = append(requests, informer.KeyOf(set))
		}
		return requests
	}, matchChanged))
}
