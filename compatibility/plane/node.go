package plane

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Node simulates, until the test ends, controllers and nodes that a plane lacks: it marks each pod as
// succeeded, and each Deployment as available with one replica set. Clients that wait for a workload
// continue.
func Node(t testing.TB, config *rest.Config) {
	t.Helper()
	n := node{Must(kubernetes.NewForConfig(config))(t)}
	ctx, stop := context.WithCancel(context.Background())
	pods := Must(n.clients.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{}))(t)
	deployments := Must(n.clients.AppsV1().Deployments("").Watch(ctx, metav1.ListOptions{}))(t)
	failed := make(chan error, 2)
	go func() { failed <- each(ctx, pods, n.finish) }()
	go func() { failed <- each(ctx, deployments, n.makeReady) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-failed; err != nil {
				t.Errorf("simulating nodes: %v", err)
			}
		}
	})
}

type node struct{ clients kubernetes.Interface }

// each calls act for each object in a watch, until ctx ends. An object that changes meanwhile appears again.
func each[T any](ctx context.Context, w watch.Interface, act func(context.Context, T) error) error {
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(T)
		if !ok || e.Type == watch.Deleted {
			continue
		}
		if err := act(ctx, o); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) &&
			!apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (n node) finish(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase == corev1.PodSucceeded || pod.DeletionTimestamp != nil {
		return nil
	}
	pod.Status.Phase = corev1.PodSucceeded
	_, err := n.clients.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (n node) makeReady(ctx context.Context, d *appsv1.Deployment) error {
	if d.Status.ObservedGeneration == d.Generation || d.DeletionTimestamp != nil {
		return nil
	}
	sets, replicas := n.clients.AppsV1().ReplicaSets(d.Namespace), *d.Spec.Replicas
	set, err := sets.Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{GenerateName: d.Name + "-", Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d,
				appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	set.Status = appsv1.ReplicaSetStatus{Replicas: replicas, FullyLabeledReplicas: replicas, ReadyReplicas: replicas,
		AvailableReplicas:  replicas,
		ObservedGeneration: set.Generation}
	if _, err := sets.UpdateStatus(ctx, set, metav1.UpdateOptions{}); err != nil {
		return err
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas,
		ReadyReplicas:     replicas,
		AvailableReplicas: replicas, Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		}}
	_, err = n.clients.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return err
}
