package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/node/simulated"
)

// childIdle is the argument of the process with idle controllers.
const childIdle = "child-idle"

// idling measures the cost of idle controllers.
func idling() measurement {
	return measurement{
		figures: []figure{
			{"all controllers at 10,000 pods and what made them, idle: CPU time", ofACore, 0.2},
			{"all controllers at 10,000 pods, sharing the server's objects: live heap", mebibytes, 80},
		},
		starts: true,
		most:   3,
		run:    inChild(childIdle),
	}
}

// idleNodes is the number of nodes on which the pods run.
const idleNodes = 48

// measureIdle prints the difference in CPU time, as a percentage of a core, between a minute with controllers
// and one without, in which nothing happens except that nodes renew their leases, and by how many MiB the
// controllers increase the live heap.
func measureIdle(ctx context.Context, _ []string) error {
	folder, err := os.MkdirTemp("", "bench-idle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := fillWithPods(ctx, filepath.Join(folder, "objects")); err != nil {
		return err
	}
	log, err := disk.Open(filepath.Join(folder, "objects"), disk.Options{})
	if err != nil {
		return err
	}
	// Objects read from disk are not decoded yet.
	plane, err := bowline.Start(ctx, bowline.Options{Storage: log, Controllers: []string{bowline.NoControllers}})
	if err != nil {
		return err
	}
	defer plane.Close()
	alone, _, err := rested(ctx, plane, []string{bowline.NoControllers})
	if err != nil {
		return err
	}
	spent, grew, err := rested(ctx, plane, []string{"*"})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr,
		"while %d nodes renew their leases: without controllers %.2f %% of a core, with them %.2f %%\n",
		idleNodes, alone, spent)
	return printJSON([]float64{spent - alone, grew / (1 << 20)})
}

// rested forks a plane with some controllers, and waits until they are idle while the nodes renew their
// leases. It returns the CPU time in the following minute, as a percentage of a core, and how much the live
// heap has grown until then.
func rested(ctx context.Context, plane *bowline.Plane, controllers []string) (spent, grew float64, err error) {
	const settling, longest, minute = 5 * time.Second, 24, time.Minute
	before := liveBytes()
	fork, err := plane.Fork(ctx, func(o *bowline.Options) { o.Controllers = controllers })
	if err != nil {
		return 0, 0, err
	}
	living, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- live(living, fork) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended, fork.Close())
	}()
	for range longest {
		if spent, err = ofCore(ctx, settling); err != nil || spent < 5 {
			break
		}
	}
	if err != nil {
		return 0, 0, err
	}
	debug.FreeOSMemory() // otherwise the runtime would do so gradually during the measurement
	grew = liveBytes() - before
	if _, err := ofCore(ctx, settling); err != nil { // until the sweep of the collected heap is complete
		return 0, 0, err
	}
	spent, err = ofCore(ctx, minute)
	return spent, grew, err
}

// ofCore measures the CPU time of this process over a period, as a percentage of a core.
func ofCore(ctx context.Context, d time.Duration) (float64, error) {
	before, err := ownCPU()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := ownCPU()
	return 100 * (after - before).Seconds() / time.Since(start).Seconds(), err
}

// live renews the lease of each node every ten seconds until ctx ends, as its agent would.
func live(ctx context.Context, plane *bowline.Plane) error {
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	leases := clients.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	names := node.NodeNames(idleNodes)
	renewed := make([]*coordinationv1.Lease, len(names))
	beat := time.NewTicker(10 * time.Second / idleNodes)
	defer beat.Stop()
	for i := 0; ; i = (i + 1) % len(names) {
		if renewed[i] == nil {
			if renewed[i], err = leases.Get(ctx, names[i], metav1.GetOptions{}); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
		renewed[i].Spec.RenewTime = new(metav1.NowMicro())
		if renewed[i], err = leases.Update(ctx, renewed[i], metav1.UpdateOptions{}); err != nil {
			return ignoreEnd(ctx, err)
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// ignoreEnd returns nil if ctx has ended, and err otherwise.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// fillWithPods creates 100 Deployments of 100 pods each and stores the result in a folder.
func fillWithPods(ctx context.Context, folder string) error {
	const deployments, pods = 100, 100
	// Suppress the repeated warnings that not all events of so many pods are written.
	defer slog.SetLogLoggerLevel(slog.SetLogLoggerLevel(slog.LevelError))
	log, err := disk.Open(folder, disk.Options{})
	if err != nil {
		return err
	}
	plane, err := bowline.Start(ctx, bowline.Options{Storage: log, Controllers: []string{"*"}})
	if err != nil {
		return err
	}
	large := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("240"),
	}
	err = onNodes(ctx, plane, simulated.Options{Nodes: idleNodes, Capacity: large},
		func(clients kubernetes.Interface) error {
			if err := drive(ctx, 16, deployments, func(i int) error {
				d, like := workload(i, pods), pod(i)
				d.Spec.Template.Annotations, d.Spec.Template.Spec = like.Annotations, like.Spec
				_, err := clients.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, d, metav1.CreateOptions{})
				return err
			}); err != nil {
				return err
			}
			return available(ctx, clients, deployments, pods)
		})
	return errors.Join(err, plane.Close())
}
