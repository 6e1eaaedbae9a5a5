// Package vacprotection implements the controller that prevents the deletion of VolumeAttributesClasses while volumes
// or claims name them. Each class has a finalizer, which the admission plugin StorageObjectInUseProtection adds. The
// controller restores it if it is missing, and removes it from a deleted class that is no longer named.
package vacprotection

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "volumeattributesclass-protection-controller"

// finalizer is the finalizer of each class.
const finalizer = "kubernetes.io/vac-protection"

// class is the name of the indexes of volumes and claims by the classes that they name.
const class = "class"

var (
	resource = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattributesclasses"}
	volumes  = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	claims   = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := m.NewInformers(informer.FactoryOptions{Uninitialized: true})
	p := &protector{
		classes:  informer.For[*storagev1.VolumeAttributesClass](all, resource),
		volumes:  informer.For[*corev1.PersistentVolume](all, volumes),
		claims:   informer.For[*corev1.PersistentVolumeClaim](all, claims),
		executor: action.NewExecutor(m, Name),
	}
	p.volumes.Indexer().AddIndex(class, ofVolume)
	p.claims.Indexer().AddIndex(class, ofClaim)
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: p,
		Sources: []controller.Source{
			controller.For(p.classes, controller.If(mayNeedChange)),
			controller.Watches(p.volumes, named(ofVolume)),
			controller.Watches(p.claims, named(ofClaim)),
		},
		Caches: []*informer.Factory{all},
	})
}

// mayNeedChange reports whether a class may need a change of its finalizer.
func mayNeedChange(_, now *storagev1.VolumeAttributesClass) bool {
	return now != nil && isProtected(now) == (now.DeletionTimestamp != nil)
}

func isProtected(c *storagev1.VolumeAttributesClass) bool {
	return slices.Contains(c.Finalizers, finalizer)
}

// ofVolume returns the names of the classes that a volume uses.
func ofVolume(v *corev1.PersistentVolume) []string { return present(v.Spec.VolumeAttributesClassName) }

// ofClaim returns the names of the classes that a claim requests, has, or is being changed to.
func ofClaim(c *corev1.PersistentVolumeClaim) []string {
	names := append(present(c.Spec.VolumeAttributesClassName), present(c.Status.CurrentVolumeAttributesClassName)...)
	if change := c.Status.ModifyVolumeStatus; change != nil {
		names = append(names, present(&change.TargetVolumeAttributesClassName)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// present returns the name, if there is one.
func present(name *string) []string {
	if name == nil || *name == "" {
		return nil
	}
	return []string{*name}
}

// named returns a function from an object to requests for the classes that it names.
func named[T any](names func(T) []string) func(T) []controller.Request {
	return func(object T) (requests []controller.Request) {
		for _, name := range names(object) {
			requests = append(requests, controller.Request{Name: name})
		}
		return requests
	}
}

// protector reconciles one class per request.
type protector struct {
	classes  *informer.Informer[*storagev1.VolumeAttributesClass]
	volumes  *informer.Informer[*corev1.PersistentVolume]
	claims   *informer.Informer[*corev1.PersistentVolumeClaim]
	executor *action.Executor
}

// Reconcile restores the finalizer of a class, or releases a deleted class that no volume and no claim names.
func (p *protector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	c, exists := p.classes.Indexer().Get(request)
	switch {
	case !exists || !mayNeedChange(nil, c):
		return controller.Result{}, nil
	case c.DeletionTimestamp == nil:
		return p.executor.Do(ctx, change(c, "protect", "finalizers"))
	}
	for range p.volumes.Indexer().Each(class, c.Name) {
		return controller.Result{}, nil
	}
	for range p.claims.Indexer().Each(class, c.Name) {
		return controller.Result{}, nil
	}
	used := false
	err := action.RetryIfSlow(func() (err error) {
		used, err = p.isUsed(ctx, c.Name)
		return err
	})
	if err != nil || used {
		return controller.Result{}, err
	}
	return p.executor.Do(ctx, change(c, "release", "$deleteFromPrimitiveList/finalizers"))
}

// isUsed asks the server whether a volume or a claim names the class: the caches may lack the newest ones. An object
// that they lack causes another request when it arrives and when it no longer names the class.
func (p *protector) isUsed(ctx context.Context, name string) (bool, error) {
	all := client.Of[*corev1.PersistentVolume](p.executor.Client, volumes).Uninitialized()
	page, err := all.List(ctx, "", metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(page.Items, func(v *corev1.PersistentVolume) bool {
		return slices.Contains(ofVolume(v), name)
	}) {
		return true, nil
	}
	everyClaim := client.Of[*corev1.PersistentVolumeClaim](p.executor.Client, claims).Uninitialized()
	requested, err := everyClaim.List(ctx, "", metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(requested.Items, func(c *corev1.PersistentVolumeClaim) bool {
		return slices.Contains(ofClaim(c), name)
	}), nil
}

// change patches the finalizers of a class. verb describes the patch, and list is the strategic merge directive.
func change(c *storagev1.VolumeAttributesClass, verb, list string) action.Action {
	return action.Patch[*storagev1.VolumeAttributesClass]{
		Resource: resource, Object: c, Type: types.StrategicMergePatchType, Verb: verb,
		Body: fmt.Appendf(nil, `{"metadata":{"uid":%q,%q:[%q]}}`, c.UID, list, finalizer),
	}
}
