// Package level is a level-triggered controller of a Deployment's pods. An event only selects the Deployment
// to reconcile; the actions depend on the current state alone.
package level

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/examples/level"
	"github.com/bowline-dev/bowline/informer"
)

// Run reconciles Deployments until ctx ends.
func Run(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{})
	if err != nil {
		return err
	}
	deployments := informer.For[*appsv1.Deployment](m.Informers(),
		appsv1.SchemeGroupVersion.WithResource("deployments"))
	pods := informer.For[*corev1.Pod](m.Informers(), corev1.SchemeGroupVersion.WithResource("pods"))
	m.Add(controller.Options{
		Name: "level",
		Reconciler: &keeper{
			deployments.Lister(), pods.Lister(),
			client.Of[*corev1.Pod](m.Client(), corev1.SchemeGroupVersion.WithResource("pods")),
		},
		Sources: []controller.Source{controller.For(deployments),
			controller.Owns(pods, schema.GroupKind{Group: "apps", Kind: "Deployment"})},
	})
	return m.Run(ctx)
}

type keeper struct {
	deployments informer.Lister[*appsv1.Deployment]
	found       informer.Lister[*corev1.Pod]
	pods        client.Resource[*corev1.Pod]
}

// Reconcile creates the missing pods of a Deployment and deletes the excess ones.
func (k *keeper) Reconcile(ctx context.Context, key controller.Request) (done controller.Result, err error) {
	d, err := k.deployments.Get(key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return done, nil // the garbage collector deletes its pods
	}
	if err != nil {
		return done, err
	}
	excess := map[string]bool{}
	for _, p := range k.found.List(d.Namespace, labels.Everything()) {
		if metav1.IsControlledBy(p, d) {
			excess[p.Name] = true
		}
	}
	for number := range level.Replicas(d) {
		wanted := level.Pod(d, number)
		if !excess[wanted.Name] {
			_, failed := k.pods.Create(ctx, wanted, metav1.CreateOptions{})
			err = errors.Join(err, failed)
		}
		delete(excess, wanted.Name)
	}
	for name := range excess {
		err = errors.Join(err, k.pods.Delete(ctx, d.Namespace, name, metav1.DeleteOptions{}))
	}
	return done, err
}
