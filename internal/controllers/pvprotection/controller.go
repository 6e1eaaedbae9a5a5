// Package pvprotection implements the controller that prevents the deletion of PersistentVolumes while they are bound
// to a claim. Each volume has a finalizer, which the admission plugin StorageObjectInUseProtection adds. The controller
// restores it if it is missing, and removes it from a deleted volume that is not bound.
package pvprotection

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "pv-protection"

// finalizer is the finalizer of each volume.
const finalizer = "kubernetes.io/pv-protection"

var resource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	all := m.NewInformers(informer.FactoryOptions{Uninitialized: true})
	p := &protector{
		volumes:  informer.For[*corev1.PersistentVolume](all, resource),
		executor: action.NewExecutor(m, "pv-protection-controller"),
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: p,
		Sources:    []controller.Source{controller.For(p.volumes, controller.If(mayNeedChange))},
		Caches:     []*informer.Factory{all},
	})
}

func mayNeedChange(_, now *corev1.PersistentVolume) bool { return now != nil && decide(now) != leave }

// decision is the change of the finalizer that a volume needs.
type decision int

const (
	leave decision = iota
	protect
	release
)

// decide compares the finalizer of a volume with its state. A deleted volume keeps its finalizer while it is bound.
func decide(v *corev1.PersistentVolume) decision {
	protected, deleted := slices.Contains(v.Finalizers, finalizer), v.DeletionTimestamp != nil
	switch {
	case !deleted && !protected:
		return protect
	case deleted && protected && v.Status.Phase != corev1.VolumeBound:
		return release
	}
	return leave
}

// protector reconciles one volume per request.
type protector struct {
	volumes  *informer.Informer[*corev1.PersistentVolume]
	executor *action.Executor
}

// Reconcile changes the finalizer of a volume as decide says.
func (p *protector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	volume, exists := p.volumes.Indexer().Get(request)
	if !exists {
		return controller.Result{}, nil
	}
	switch decide(volume) {
	case protect:
		return p.executor.Do(ctx, change(volume, "protect", "finalizers"))
	case release:
		return p.executor.Do(ctx, change(volume, "release", "$deleteFromPrimitiveList/finalizers"))
	}
	return controller.Result{}, nil
}

// change patches the finalizers of a volume, unless the volume has changed: it may be bound now. verb describes the
// patch, and list is the strategic merge directive.
func change(v *corev1.PersistentVolume, verb, list string) action.Action {
	return action.Patch[*corev1.PersistentVolume]{
		Resource: resource, Object: v, Type: types.StrategicMergePatchType, Verb: verb,
		Body: fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q,%q:[%q]}}`, v.UID, v.ResourceVersion, list,
			finalizer),
	}
}
