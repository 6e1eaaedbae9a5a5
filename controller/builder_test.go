package controller_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/controller"
)

// A built controller reconciles its objects, the owners of what it owns, and what Map derives.
func TestBuilderReconcilesOwnersAndMappedObjects(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{})
		nodes := controller.ClusterObjectsOf[*corev1.Node](m, corev1.SchemeGroupVersion.WithResource("nodes"))
		sets := controller.ObjectsOf[*appsv1.DaemonSet](m, appsv1.SchemeGroupVersion.WithResource("daemonsets"))
		maps := controller.ObjectsOf[*corev1.ConfigMap](m, configMaps)
		secrets := controller.ObjectsOf[*corev1.Secret](m, corev1.SchemeGroupVersion.WithResource("secrets"))
		ofSets, ofNodes := &names{}, &names{}
		all := controller.Map(secrets, func(s *corev1.Secret) []controller.Request {
			return []controller.Request{{Namespace: s.Namespace, Name: "of-" + s.Name}}
		}, controller.LabelsChanged)
		if err := m.Build("sets").For(sets).Owns(maps).Watches(all).With(controller.Options{Workers: 2}).Complete(ofSets); err != nil {
			w.Fatal(err)
		}
		if err := m.Build("nodes").For(nodes).Owns(maps).Complete(ofNodes); err != nil {
			w.Fatal(err)
		}
		r := run(m)
		<-m.Ready()
		ofSets.take()
		ofNodes.take()

		isController := true
		create := func(name string, owner metav1.OwnerReference) {
			owner.Name, owner.UID, owner.Controller = "owner", "1", &isController
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
				OwnerReferences: []metav1.OwnerReference{owner}}}
			if _, err := maps.Client().Create(w.Context(), cm, metav1.CreateOptions{}); err != nil {
				w.Fatal(err)
			}
		}
		create("of-set", metav1.OwnerReference{APIVersion: "apps/v1beta2", Kind: "DaemonSet"})
		if sets, nodes := ofSets.take(), ofNodes.take(); sets != "default/owner" || nodes != "" {
			w.Errorf("a ConfigMap of a DaemonSet: got sets %q, nodes %q", sets, nodes)
		}
		create("of-node", metav1.OwnerReference{APIVersion: "v1", Kind: "Node"})
		if sets, nodes := ofSets.take(), ofNodes.take(); sets != "" || nodes != "/owner" {
			w.Errorf("a ConfigMap of a Node: got sets %q, nodes %q", sets, nodes)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
		if _, err := secrets.Client().Create(w.Context(), secret, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
		if sets := ofSets.take(); sets != "default/of-s" {
			w.Errorf("a Secret: got sets %q", sets)
		}
		if err := r.stop(); err != nil {
			w.Error(err)
		}
	})
}

func TestCompleteRejectsAnIncompleteController(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{})
		maps := controller.ObjectsOf[*corev1.ConfigMap](m, configMaps)
		untyped := controller.ObjectsOf[*unstructured.Unstructured](m, configMaps)
		noop := controller.Func(func(context.Context, controller.Request) (controller.Result, error) {
			return controller.Result{}, nil
		})
		for want, err := range map[string]error{
			"For was not called": m.Build("x").Owns(maps).Complete(noop),
			"twice":              m.Build("x").For(maps).For(maps).Complete(noop),
			"nil":                m.Build("x").For(maps).Complete(nil),
			"needs a typed kind": m.Build("x").For(untyped).Owns(maps).Complete(noop),
		} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "controller x: ") {
				w.Errorf("got error %v, want %q", err, want)
			}
		}
	})
}
