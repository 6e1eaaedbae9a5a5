package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
)

// childDeletions is the argument of the process in which objects are deleted.
const childDeletions = "child-deletions"

// deletions measures the time until everything that belongs to a deleted object is deleted too.
func deletions() measurement {
	return measurement{
		figures: []figure{
			{"deletion of a namespace with 10,000 objects of 20 kinds", seconds, 4},
			{"garbage collection of 10,000 dependents", seconds, 4},
			{"foreground deletion of an owner with 10,000 dependents", seconds, 4},
		},
		starts: true,
		run:    inChild(childDeletions),
	}
}

// deletedObjects is the number of objects to be deleted.
const deletedObjects = 10_000

// idleTime is the time in which the controllers process the created objects.
const idleTime = 3 * time.Second

// measureDeletions prints each duration in seconds, on a new plane with all controllers.
func measureDeletions(ctx context.Context, _ []string) error {
	var took []float64
	for _, measure := range []func(context.Context, *bowline.Plane) (time.Duration, error){
		deleteNamespace,
		func(ctx context.Context, p *bowline.Plane) (time.Duration, error) {
			return deleteOwner(ctx, p, metav1.DeletePropagationBackground)
		},
		func(ctx context.Context, p *bowline.Plane) (time.Duration, error) {
			return deleteOwner(ctx, p, metav1.DeletePropagationForeground)
		},
	} {
		plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{"*"}})
		if err != nil {
			return err
		}
		elapsed, err := measure(ctx, plane)
		if err != nil {
			return err
		}
		took = append(took, elapsed.Seconds())
		if err := plane.Close(); err != nil {
			return err
		}
	}
	return printJSON(took)
}

// deleteNamespace returns the time from the deletion of a namespace until it is gone.
func deleteNamespace(ctx context.Context, plane *bowline.Plane) (time.Duration, error) {
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return 0, err
	}
	dyn, err := servingHitches(ctx, plane)
	if err != nil {
		return 0, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: doomed}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	if err := drive(ctx, 16, deletedObjects, func(i int) error {
		return createContent(ctx, dyn, i)
	}); err != nil {
		return 0, err
	}
	time.Sleep(idleTime)
	w, err := clients.CoreV1().Namespaces().Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: doomed}))
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := clients.CoreV1().Namespaces().Delete(ctx, doomed, metav1.DeleteOptions{}); err != nil {
		return 0, err
	}
	err = deleted(w, 1)
	return time.Since(start), err
}

// deleteOwner returns the time from the deletion of an owner until it and its last dependent are gone.
func deleteOwner(ctx context.Context, plane *bowline.Plane, policy metav1.DeletionPropagation) (time.Duration, error) {
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return 0, err
	}
	maps := clients.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	ends := map[string]string{"ends": ""}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Labels: ends}}
	if owner, err = maps.Create(ctx, owner, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	owners := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true)},
	}
	if err := drive(ctx, 16, deletedObjects, func(i int) error {
		cm := configMap(i)
		cm.Labels, cm.OwnerReferences = ends, owners
		_, err := maps.Create(ctx, cm, metav1.CreateOptions{})
		return err
	}); err != nil {
		return 0, err
	}
	time.Sleep(idleTime)
	w, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "ends"})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := maps.Delete(ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		return 0, err
	}
	err = deleted(w, deletedObjects+1)
	return time.Since(start), err
}

// deleted waits until a watch has reported deletions of so many different objects.
func deleted(w watch.Interface, objects int) error {
	defer w.Stop()
	gone := map[types.UID]bool{}
	for event := range w.ResultChan() {
		obj, ok := event.Object.(metav1.Object)
		if !ok {
			return fmt.Errorf("the watch ended: %v", event.Object)
		}
		if event.Type == watch.Deleted {
			gone[obj.GetUID()] = true
		}
		if len(gone) == objects {
			return nil
		}
	}
	return fmt.Errorf("the watch ended after %d of %d deletions", len(gone), objects)
}
