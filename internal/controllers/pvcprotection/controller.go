// Package pvcprotection is the controller that keeps a PersistentVolumeClaim as long as pods use it: each has a finalizer, and
// gets it back where somebody has taken it, until the claim is deleted and no pod needs it any more. Claims and pods that
// initializers have still to act on count like others.
package pvcprotection

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "pvc-protection"

// finalizer is what a claim has, which the server gives to each.
const finalizer = "kubernetes.io/pvc-protection"

// lookAgain is when to look at a claim again that is used by a pod of which no cache tells: it is hidden, or was made just now.
const lookAgain = 30 * time.Second

var resource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := m.MoreInformers(informer.FactoryOptions{Uninitialized: true})
	p := &protector{
		claims: informer.For[*corev1.PersistentVolumeClaim](all, resource),
		pods:   informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		hand:   action.NewHand(m, "pvc-protection-controller"),
	}
	p.pods.Indexer().AddIndex("claim", claimsOf)
	used := func(pod *corev1.Pod) (requests []controller.Request) {
		for _, name := range claimsOf(pod) {
			requests = append(requests, controller.Request{Namespace: pod.Namespace, Name: name[len(pod.Namespace)+1:]})
		}
		return requests
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: p,
		Sources: []controller.Source{
			controller.For(p.claims, controller.If(concerns)), controller.Watches(p.pods, used, controller.If(lets)),
		},
		Caches: []*informer.Factory{m.Informers(), all},
	})
}

// concerns says whether there may be something to do about a claim.
func concerns(_, now *corev1.PersistentVolumeClaim) bool {
	return now != nil && (now.DeletionTimestamp != nil || !isProtected(now))
}

// lets says whether a pod lets go of its claims, or has gone.
func lets(_, now *corev1.Pod) bool {
	return now == nil || isShutDown(now)
}

func isProtected(claim *corev1.PersistentVolumeClaim) bool {
	return slices.Contains(claim.Finalizers, finalizer)
}

// protector keeps claims.
type protector struct {
	claims *informer.Informer[*corev1.PersistentVolumeClaim]
	pods   *informer.Informer[*corev1.Pod]
	hand   *action.Hand
}

// claimsOf are the claims that a pod uses, by namespace and name: those that it names, and those that are made for it.
func claimsOf(pod *corev1.Pod) (names []string) {
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Namespace+"/"+pod.Name+"-"+v.Name)
		}
	}
	return names
}

// Reconcile lets go of a claim that is deleted and that no pod needs. A pod that has a node needs it until it is gone, though it
// has ended; one that has none will not get one, since no node takes a pod whose claim is being deleted.
func (p *protector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	claim, there := p.claims.Indexer().Get(request)
	switch {
	case !there, claim.DeletionTimestamp == nil && isProtected(claim), claim.DeletionTimestamp != nil && !isProtected(claim):
		return controller.Result{}, nil
	case claim.DeletionTimestamp == nil:
		return p.hand.Do(ctx, change(claim, "protect", "finalizers"))
	}
	for pod := range p.pods.Indexer().Each("claim", claim.Namespace+"/"+claim.Name) {
		if uses(pod, claim) {
			return controller.Result{}, nil
		}
	}
	used := false
	err := action.Soon(func() (err error) {
		used, err = p.isUsed(ctx, claim)
		return err
	})
	switch {
	case err != nil:
		return controller.Result{}, err
	case used:
		return p.hand.Do(ctx, action.Again{After: lookAgain})
	}
	return p.hand.Do(ctx, change(claim, "release", "$deleteFromPrimitiveList/finalizers"))
}

// change is a patch of the finalizers of a claim: does says what it is for, and list which they are, as a strategic merge patch
// says it.
func change(claim *corev1.PersistentVolumeClaim, does, list string) action.Action {
	return action.Patch[*corev1.PersistentVolumeClaim]{
		In: resource, Object: claim, Type: types.StrategicMergePatchType, Does: does,
		Body: fmt.Appendf(nil, `{"metadata":{"uid":%q,%q:[%q]}}`, claim.UID, list, finalizer),
	}
}

// isUsed asks the server, which knows the newest pod, and what is hidden. The cache may show neither.
func (p *protector) isUsed(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	all := client.Of[*corev1.Pod](p.hand.Client, pods.Resource).Uninitialized()
	page, err := all.List(ctx, claim.Namespace, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(page.Items, func(pod *corev1.Pod) bool { return uses(pod, claim) }), nil
}

// uses says whether a pod needs a claim.
func uses(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name:
			return true
		case v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name && metav1.IsControlledBy(claim, pod) && !isShutDown(pod):
			return true
		}
	}
	return false
}

// isShutDown says that a pod's node is done with it: it may wait for its own claim to go.
func isShutDown(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}
