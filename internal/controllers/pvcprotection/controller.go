// Package pvcprotection implements the controller that prevents the deletion of PersistentVolumeClaims while
// pods use them. Each claim has a finalizer, which the controller restores if it is missing, and removes once
// the claim is being deleted and no pod uses it. Claims and pods that are hidden by initializers count like
// others.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "pvc-protection"

// finalizer is the finalizer of each claim; the server adds it on creation.
const finalizer = "kubernetes.io/pvc-protection"

// retryInterval is the retry interval for a claim that is used by a pod whose events the cache does not receive: the
// pod is hidden by an initializer, or was just created.
const retryInterval = 30 * time.Second

var resource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := m.NewInformers(informer.FactoryOptions{Uninitialized: true})
	p := &protector{
		claims:   informer.For[*corev1.PersistentVolumeClaim](all, resource),
		pods:     informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		executor: action.NewExecutor(m, "pvc-protection-controller"),
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
			controller.For(p.claims, controller.If(mayNeedChange)),
			controller.Watches(p.pods, used, controller.If(releasesClaims)),
		},
		Caches: []*informer.Factory{m.Informers(), all},
	})
}

// mayNeedChange reports whether a claim may need a change of the finalizer.
func mayNeedChange(_, now *corev1.PersistentVolumeClaim) bool {
	return now != nil && (now.DeletionTimestamp != nil || !isProtected(now))
}

// releasesClaims reports whether a pod stops using its claims: it was deleted, or its node has shut it down.
func releasesClaims(_, now *corev1.Pod) bool {
	return now == nil || isShutDown(now)
}

func isProtected(claim *corev1.PersistentVolumeClaim) bool {
	return slices.Contains(claim.Finalizers, finalizer)
}

// protector reconciles one claim per request.
type protector struct {
	claims   *informer.Informer[*corev1.PersistentVolumeClaim]
	pods     *informer.Informer[*corev1.Pod]
	executor *action.Executor
}

// claimsOf returns the claims that a pod uses, as namespace/name, including those of ephemeral volumes.
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

// Reconcile releases a claim that is being deleted and not used by a pod. A pod on a node uses its claims
// until it is deleted, even after it has ended. A pod without a node does not count: no node accepts a pod
// whose claim is being deleted.
func (p *protector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	claim, exists := p.claims.Indexer().Get(request)
	switch {
	case !exists, claim.DeletionTimestamp == nil && isProtected(claim), claim.DeletionTimestamp != nil &&
		!isProtected(claim):
		return controller.Result{}, nil
	case claim.DeletionTimestamp == nil:
		return p.executor.Do(ctx, change(claim, "protect", "finalizers"))
	}
	for pod := range p.pods.Indexer().Each("claim", claim.Namespace+"/"+claim.Name) {
		if uses(pod, claim) {
			return controller.Result{}, nil
		}
	}
	used := false
	err := action.RetryIfSlow(func() (err error) {
		used, err = p.isUsed(ctx, claim)
		return err
	})
	switch {
	case err != nil:
		return controller.Result{}, err
	case used:
		return p.executor.Do(ctx, action.Requeue{After: retryInterval})
	}
	return p.executor.Do(ctx, change(claim, "release", "$deleteFromPrimitiveList/finalizers"))
}

// change patches the finalizers of a claim. verb describes the patch, and list is the strategic merge
// directive.
func change(claim *corev1.PersistentVolumeClaim, verb, list string) action.Action {
	return action.Patch[*corev1.PersistentVolumeClaim]{
		Resource: resource, Object: claim, Type: types.StrategicMergePatchType, Verb: verb,
		Body: fmt.Appendf(nil, `{"metadata":{"uid":%q,%q:[%q]}}`, claim.UID, list, finalizer),
	}
}

// isUsed asks the server whether a pod uses the claim: the cache may lack the newest pods and does not show pods that
// are hidden by initializers.
func (p *protector) isUsed(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	all := client.Of[*corev1.Pod](p.executor.Client, pods.Resource).Uninitialized()
	page, err := all.List(ctx, claim.Namespace, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(page.Items, func(pod *corev1.Pod) bool { return uses(pod, claim) }), nil
}

// uses reports whether a pod uses a claim.
func uses(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name:
			return true
		case v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name && metav1.IsControlledBy(claim, pod) &&
			!isShutDown(pod):
			return true
		}
	}
	return false
}

// isShutDown reports whether a pod's node has shut it down. Such a pod may be waiting for its own ephemeral
// claim to be deleted.
func isShutDown(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}
