package sidecar

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

const (
	// InitializerName is the name of the initializer in the list of pending initializers of a pod.
	InitializerName = "envoy.initializer.kubernetes.io"
	// InitializerConfiguration is the name of the configuration that adds InitializerName to new pods.
	InitializerConfiguration = "envoy-config"
)

var (
	podResource    = corev1.SchemeGroupVersion.WithResource("pods")
	mapResource    = corev1.SchemeGroupVersion.WithResource("configmaps")
	configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1alpha1",
		Resource: "initializerconfigurations"}
)

// AddInitializer adds the initializer to a manager: a controller of the pods that wait for it. A single PATCH
// adds the missing parts of the template to a pod and removes the initializer's name from the pending list,
// so a visible pod is always complete, even if the initializer crashes. While it does not run, pods wait. It
// uses only the options that select pods and the ConfigMap.
func AddInitializer(m *controller.Manager, o Options) *controller.Controller {
	o = o.withDefaults()
	// Typed pods have no field for pending initializers, and waiting pods are only returned on request.
	all := m.NewInformers(informer.FactoryOptions{Uninitialized: true})
	waiting := informer.For[*unstructured.Unstructured](all, podResource)
	one := informer.Scope{Namespace: o.Namespace,
		Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, ConfigMap)}
	maps := informer.For[*corev1.ConfigMap](m.Informers(), mapResource, one)
	i := &initializer{
		Options: o, cached: waiting.Lister(), pods: client.Of[*unstructured.Unstructured](m.Client(), podResource),
		templates: &templates{Options: o, cached: maps.Lister()},
	}
	return m.Add(controller.Options{
		Name: "sidecar-initializer", Reconciler: i, Workers: 4,
		Sources: []controller.Source{
			controller.For(waiting),
			// pods may be waiting for it
			controller.Watches(maps, func(*corev1.ConfigMap) []controller.Request { return i.all() }),
		},
		Caches: []*informer.Factory{m.Informers(), all},
	})
}

// Initialize creates the InitializerConfiguration and runs the initializer until ctx ends. The configuration
// remains, so new pods keep waiting for the initializer.
func Initialize(ctx context.Context, o Options) error {
	o = o.withDefaults()
	m, err := controller.NewManager(o.Config, controller.ManagerOptions{Source: o.Source, Log: o.Log})
	if err != nil {
		return err
	}
	AddInitializer(m, o)
	all := client.Of[*unstructured.Unstructured](m.Client(), configurations)
	if _, err := all.ApplyObject(ctx, Configured(),
		metav1.ApplyOptions{FieldManager: InitializerConfiguration, Force: true}); err != nil {
		return err
	}
	o.Log.Info("adding sidecars to new pods", "initializer", InitializerName, "configuration", InitializerConfiguration)
	return m.Run(ctx)
}

// Configured returns the InitializerConfiguration, as in example/initializerconfiguration.yaml. It is
// unstructured because client libraries no longer include its type.
func Configured() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": configurations.GroupVersion().String(), "kind": "InitializerConfiguration",
		"metadata": map[string]any{"name": InitializerConfiguration},
		"initializers": []any{map[string]any{"name": InitializerName, "rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"},
		}}}},
	}}
}

// initializer implements controller.Reconciler.
type initializer struct {
	Options
	cached    informer.Lister[*unstructured.Unstructured]
	pods      client.Resource[*unstructured.Unstructured]
	templates *templates
}

// Reconcile initializes a pod if all earlier initializers have finished.
func (i *initializer) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	u, err := i.cached.Get(r.Namespace, r.Name)
	switch {
	case apierrors.IsNotFound(err):
		return controller.Result{}, nil
	case err != nil || !isNext(u):
		return controller.Result{}, err
	}
	patch, err := i.patch(u)
	if err != nil {
		return controller.Result{}, fmt.Errorf("pod %s: %w", r, err)
	}
	_, err = i.pods.Patch(ctx, r.Namespace, r.Name, "", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) { // deleted in the meantime
		err = nil
	}
	return controller.Result{}, err
}

// isNext reports whether the initializer is the first in the list of pending ones.
func isNext(pod *unstructured.Unstructured) bool {
	pending, _, _ := unstructured.NestedSlice(pod.Object, "metadata", "initializers", "pending")
	if len(pending) == 0 {
		return false
	}
	first, _ := pending[0].(map[string]any)
	return first["name"] == InitializerName
}

// all returns requests for the pods that wait for the initializer.
func (i *initializer) all() (requests []controller.Request) {
	for _, u := range i.cached.List("", nil) {
		if isNext(u) {
			requests = append(requests, informer.KeyOf(u))
		}
	}
	return requests
}

// patch returns the patch that adds the missing parts of the template, if the pod wants them, and removes the
// initializer's name. It names the UID and resourceVersion, so that the server answers with a conflict, and
// the pod is reconciled again, if it was replaced or changed.
func (i *initializer) patch(u *unstructured.Unstructured) ([]byte, error) {
	patch := map[string]any{}
	if i.Wants(u.GetAnnotations()) {
		t, err := i.templates.newest()
		if err != nil {
			return nil, err
		}
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod); err != nil {
			return nil, err
		}
		adds, err := t.MergePatch(&pod)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(adds, &patch); err != nil {
			return nil, err
		}
	}
	patch["metadata"] = map[string]any{
		"uid": u.GetUID(), "resourceVersion": u.GetResourceVersion(),
		"initializers": map[string]any{"pending": []any{map[string]any{"$patch": "delete", "name": InitializerName}}},
	}
	return json.Marshal(patch)
}
