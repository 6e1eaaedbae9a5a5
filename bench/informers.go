package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// informerStarts measures how our informer and client-go's fill their caches with 10,000 Pods over TLS, in
// separate processes.
func informerStarts() measurement {
	return measurement{
		figures: []figure{
			{"informer start on 10,000 Pods over TLS: our time / client-go's", times, 1 / 1.5},
			{"the same, lazily decoded", times, 1 / 1.5},
			{"informer start on 10,000 Pods over TLS: our live heap / client-go's", times, 0.5},
			{"the same, lazily decoded: our live heap / client-go's", times, 0.5},
		},
		starts: true,
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			typed, err := speaking(s.config, utilruntime.ContentTypeProtobuf)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, 16, listed, func(i int) error {
				_, err := typed.CoreV1().Pods(namespace).Create(ctx, deployedPod(i), metav1.CreateOptions{})
				return err
			}); err != nil {
				return nil, err
			}
			return s.compareStarts(ctx, namespace)
		}),
	}
}

// deployedPod returns one of a hundred Pods that each of a hundred Deployments has, on one of fifty nodes. As
// in a cluster, where each pod has its own token volume, no two pods have equal volumes or containers.
func deployedPod(i int) *corev1.Pod {
	deployment := fmt.Sprintf("bench-%d", i%100)
	p := pod(i)
	p.Labels["app"] = deployment
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
		Name: deployment + "-6d4cf56db6", UID: types.UID(deployment)}}
	p.Annotations["example.com/config"] = strings.Repeat(fmt.Sprintf("%016d", i%100), 23)
	p.Spec.NodeName = fmt.Sprintf("node-%d", i%50)
	p.Spec.Volumes[0].ConfigMap.Name = p.Name
	for n := range p.Spec.Containers {
		c := &p.Spec.Containers[n]
		c.Image += "-" + deployment
		c.Env[0].Value = deployment
		c.VolumeMounts[0].SubPath = p.Name
	}
	return p
}

// started is the result of a process: the median time to fill the cache, and the memory of the last one in
// bytes.
type started struct {
	Milliseconds, Heap float64
}

// compareStarts runs each informer in a process. Of client-go's two ways to list it uses the faster one.
func (s *server) compareStarts(ctx context.Context, namespace string) ([]reading, error) {
	kubeconfig := s.lab.dir + "/informers"
	if err := writeKubeconfig(kubeconfig, s.config); err != nil {
		return nil, err
	}
	run := map[string]started{}
	for _, who := range []string{"list", "stream", "ours", "lazy"} {
		var result started
		if err := askChild(ctx, &result, childFill, kubeconfig, namespace, who); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f ms, %.1f MiB\n", who, result.Milliseconds, result.Heap/(1<<20))
		run[who] = result
	}
	theirs := math.Min(run["list"].Milliseconds, run["stream"].Milliseconds)
	heap := math.Min(run["list"].Heap, run["stream"].Heap)
	return []reading{
		{Value: run["ours"].Milliseconds / theirs}, {Value: run["lazy"].Milliseconds / theirs},
		{Value: run["ours"].Heap / heap}, {Value: run["lazy"].Heap / heap},
	}, nil
}

// fills is how often a process fills a cache; the first time is discarded.
const fills = 6

// measureFill implements the process. Its arguments are a kubeconfig, a namespace, and the informer.
func measureFill(ctx context.Context, args []string) error {
	// client-go reads it at its first use
	os.Setenv("KUBE_FEATURE_WatchListClient", strconv.FormatBool(args[2] == "stream"))
	config, err := restConfig(args[0])
	if err != nil {
		return err
	}
	fill := fillTheirs
	if args[2] == "ours" || args[2] == "lazy" {
		fill = fillOurs
	}
	var times []float64
	var result started
	for range fills {
		before := liveHeap()
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		start := time.Now()
		keep, err := fill(ctx, &running, config, args[1], args[2] == "lazy")
		if err != nil {
			cancel()
			return err
		}
		times = append(times, float64(time.Since(start).Microseconds())/1000)
		result.Heap = liveHeap() - before
		runtime.KeepAlive(keep)
		cancel()
		running.Wait()
	}
	times = times[1:]
	slices.Sort(times)
	result.Milliseconds = times[len(times)/2]
	return json.NewEncoder(os.Stdout).Encode(result)
}

// liveHeap returns the size of the reachable heap in bytes.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// fillOurs runs our informer until its handler has received all Pods.
func fillOurs(ctx context.Context, running *sync.WaitGroup, config *rest.Config, namespace string,
	lazy bool) (any, error) {
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	i := informer.New(client.NewSource(c), corev1.SchemeGroupVersion.WithResource("pods"),
		informer.Options[*corev1.Pod]{Namespace: namespace, Lazy: lazy})
	running.Go(func() { i.Run(ctx) })
	select {
	case <-i.Synced():
	case <-ctx.Done():
	}
	if i.Indexer().Len() != listed {
		return nil, fmt.Errorf("%d Pods are cached", i.Indexer().Len())
	}
	return i, ctx.Err()
}

// fillTheirs does the same with client-go's informer.
func fillTheirs(ctx context.Context, running *sync.WaitGroup, config *rest.Config, namespace string,
	_ bool) (any, error) {
	typed, err := speaking(config, utilruntime.ContentTypeProtobuf)
	if err != nil {
		return nil, err
	}
	i := coreinformers.NewPodInformer(typed, namespace, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	running.Go(func() { i.RunWithContext(ctx) })
	select {
	case <-i.HasSyncedChecker().Done():
	case <-ctx.Done():
	}
	if n := len(i.GetStore().ListKeys()); n != listed {
		return nil, fmt.Errorf("%d Pods are cached", n)
	}
	return i, ctx.Err()
}
