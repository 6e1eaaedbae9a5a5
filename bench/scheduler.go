package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
)

// childScheduler is the argument of the process with the scheduler.
const childScheduler = "child-scheduler"

// schedules measures the throughput of the scheduler.
func schedules() measurement {
	return measurement{
		figures: []figure{{"scheduler: 10,000 pods to 5,000 nodes, bound", perSecond, 1_000}},
		starts:  true,
		run:     inChild(childScheduler),
	}
}

const (
	scheduledNodes = 5_000
	scheduledPods  = 10_000
)

// measureSchedules creates nodes and pods, and prints how many pods per second a scheduler binds that is
// started afterwards.
func measureSchedules(ctx context.Context, _ []string) error {
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		return err
	}
	defer plane.Close()
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	if err := drive(ctx, 16, scheduledNodes, createNode(ctx, clients)); err != nil {
		return err
	}
	if err := drive(ctx, 16, scheduledPods, createPod(ctx, clients, metav1.NamespaceDefault)); err != nil {
		return err
	}
	m, err := controller.NewManager(plane.RESTConfig(),
		controller.ManagerOptions{Source: plane.Source(), Metrics: controller.NewMetrics()})
	if err != nil {
		return err
	}
	scheduler.Add(m)
	left, all := scheduledPods, make(chan struct{})
	pods := informer.For[*corev1.Pod](m.Informers(), schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{Update: func(old, now *corev1.Pod) {
		if old.Spec.NodeName == "" && now.Spec.NodeName != "" {
			if left--; left == 0 {
				close(all)
			}
		}
	}})
	runtime.GC()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- m.Run(running) }()
	select {
	case <-all:
	case <-ctx.Done():
	}
	took := time.Since(start)
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{scheduledPods / took.Seconds()})
}

// createNode creates ready nodes of 32 cores in ten zones. It removes the taint of new nodes.
func createNode(ctx context.Context, clients kubernetes.Interface) func(i int) error {
	return func(i int) error {
		name := fmt.Sprintf("node-%04d", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
			corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%10),
		}}}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		}
		n.Status.Capacity = n.Status.Allocatable
		n, err := clients.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		n.Spec.Taints = nil
		_, err = clients.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
		return err
	}
}
