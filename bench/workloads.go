package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// childWorkloads is the argument of the process in which workloads run on simulated nodes.
const childWorkloads = "child-workloads"

// workloads measures the time from the creation of Deployments until their pods are available.
func workloads() measurement {
	return measurement{
		figures: []figure{
			{"Deployment of 1,000 pods to all Ready", seconds, 3},
			{"1,000 Deployments of one pod to all available", seconds, 8},
		},
		starts: true,
		run:    inChild(childWorkloads),
	}
}

// measureWorkloads runs a plane with all controllers and 20 simulated nodes, whose pods are ready at once,
// for each figure, and prints the seconds.
func measureWorkloads(ctx context.Context, _ []string) error {
	var took []float64
	for _, sizes := range [][2]int{{1, 1_000}, {1_000, 1}} {
		seconds, err := runWorkloads(ctx, sizes[0], int32(sizes[1]))
		if err != nil {
			return err
		}
		took = append(took, seconds.Seconds())
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}

// runWorkloads returns the time from the first create until all Deployments have their available pods.
func runWorkloads(ctx context.Context, deployments int, pods int32) (took time.Duration, err error) {
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{"*"}})
	if err != nil {
		return 0, err
	}
	defer plane.Close()
	err = onNodes(ctx, plane, simulated.Options{Nodes: 20}, func(clients kubernetes.Interface) error {
		start := time.Now()
		if err := declareWorkloads(ctx, clients, deployments, pods); err != nil {
			return err
		}
		err := available(ctx, clients, deployments, pods)
		took = time.Since(start)
		return err
	})
	return took, err
}

// onNodes calls do while a plane has simulated nodes, all of which are ready.
func onNodes(ctx context.Context, plane *bowline.Plane, nodes simulated.Options,
	do func(kubernetes.Interface) error) error {
	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{Source: plane.Source()})
	if err != nil {
		return err
	}
	simulated.Add(m, nodes)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(running) }()
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	if err := nodesReady(ctx, clients, nodes.Nodes); err != nil {
		return err
	}
	if err := do(clients); err != nil {
		return err
	}
	stop()
	return <-ended
}

// declareWorkloads creates Deployments, 16 concurrently.
func declareWorkloads(ctx context.Context, clients kubernetes.Interface, deployments int, pods int32) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range deployments {
		group.Go(func() error {
			_, err := clients.AppsV1().Deployments("default").Create(ctx, workload(i, pods), metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

func workload(i int, pods int32) *appsv1.Deployment {
	name := fmt.Sprintf("web-%d", i)
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	d.Spec.Replicas = &pods
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.27.1"}}
	return d
}

// nodesReady waits until so many nodes are ready.
func nodesReady(ctx context.Context, clients kubernetes.Interface, nodes int) error {
	watch, err := clients.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watch.Stop()
	ready := map[string]bool{}
	for event := range watch.ResultChan() {
		node, ok := event.Object.(*corev1.Node)
		if !ok {
			return fmt.Errorf("the watch of nodes ended: %v", event.Object)
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready[node.Name] = true
			}
		}
		if len(ready) == nodes {
			return nil
		}
	}
	return fmt.Errorf("only %d of %d nodes became ready", len(ready), nodes)
}

// available waits until all Deployments have their available pods.
func available(ctx context.Context, clients kubernetes.Interface, deployments int, pods int32) error {
	watch, err := clients.AppsV1().Deployments("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watch.Stop()
	done := map[string]bool{}
	for event := range watch.ResultChan() {
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			return fmt.Errorf("the watch of deployments ended: %v", event.Object)
		}
		if d.Status.ReadyReplicas == pods && d.Status.AvailableReplicas == pods {
			done[d.Name] = true
		}
		if len(done) == deployments {
			return nil
		}
	}
	return fmt.Errorf("only %d of %d deployments became available", len(done), deployments)
}
