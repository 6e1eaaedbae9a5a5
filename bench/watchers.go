package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// manyWatchers is the larger number of watchers, and also of objects and updates.
	manyWatchers = 10_000
	// few is the number of watchers that these are compared with.
	few = 10
	// streamsEach is the number of watches that share a connection; a server accepts 1,000.
	streamsEach = 500
)

// watcherGroup describes watchers that each select one object of a resource.
type watcherGroup struct {
	each     string // by what each watcher selects its object
	resource string
	// create creates object i.
	create func(ctx context.Context, client kubernetes.Interface, i int) error
	// narrow restricts a watch to object i.
	narrow func(r *rest.Request, i int) *rest.Request
	// namespace and name return those of object i.
	namespace, name func(i int) string
}

func own(what string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s-%05d", what, i) }
}

func always(what string) func(int) string { return func(int) string { return what } }

// namespaceWatchers watch one namespace each; labelWatchers select a label value, and fieldWatchers a field value, in
// all namespaces, as the kubelets of a large cluster watch their Pods.
func namespaceWatchers() watcherGroup {
	in := own("watched")
	return watcherGroup{each: "namespace", resource: "configmaps", namespace: in, name: always("own"),
		create: func(ctx context.Context, client kubernetes.Interface, i int) error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in(i)}}
			if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
				return err
			}
			_, err := client.CoreV1().ConfigMaps(in(i)).Create(ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}}, metav1.CreateOptions{})
			return err
		},
		narrow: func(r *rest.Request, i int) *rest.Request { return r.Namespace(in(i)) }}
}

func labelWatchers() watcherGroup {
	name := own("owner")
	return watcherGroup{each: "label value", resource: "configmaps", namespace: always("default"), name: name,
		create: func(ctx context.Context, client kubernetes.Interface, i int) error {
			meta := metav1.ObjectMeta{Name: name(i), Labels: map[string]string{"app": "watched", "owner": name(i)}}
			_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta},
				metav1.CreateOptions{})
			return err
		},
		narrow: func(r *rest.Request, i int) *rest.Request {
			return r.Param("labelSelector", "app=watched,owner="+name(i))
		}}
}

func fieldWatchers() watcherGroup {
	name := own("node")
	return watcherGroup{each: "field value", resource: "pods", namespace: always("default"), name: name,
		create: func(ctx context.Context, client kubernetes.Interface, i int) error {
			spec := corev1.PodSpec{NodeName: name(i), Containers: []corev1.Container{{Name: "c", Image: "i"}}}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name(i)}, Spec: spec}
			_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
			return err
		},
		narrow: func(r *rest.Request, i int) *rest.Request {
			return r.Param("fieldSelector", "spec.nodeName="+name(i))
		}}
}

// compareWatchers compares the time of the same updates with many watchers and with few.
func compareWatchers(make func() watcherGroup) measurement {
	c := make()
	return measurement{
		figures: []figure{{"10,000 watchers, each on its own " + c.each + ", against 10, same 10,000 updates: time",
			times, 1.2}},
		run: withServer(func(ctx context.Context, s *server, _ string) ([]reading, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			create := func(i int) error { return c.create(ctx, client, i) }
			if err := drive(ctx, 16, manyWatchers, create); err != nil {
				return nil, err
			}
			var rounds [4]spent // the first run is a warm-up
			for run, count := range []int{few, few, manyWatchers, few} {
				if rounds[run], err = c.updates(ctx, s, client, count); err != nil {
					return nil, err
				}
			}
			r := rounds[2].rate()
			r.Value = 2 * rounds[2].elapsed.Seconds() / (rounds[1].elapsed + rounds[3].elapsed).Seconds()
			return []reading{r}, nil
		}),
	}
}

// updates opens some watches, spread over all objects, updates each object once, and measures the time until
// the last update is answered and the last watcher has its event.
func (c watcherGroup) updates(ctx context.Context, s *server, client kubernetes.Interface, count int) (spent, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	streams, err := c.open(ctx, s.config, client, count)
	if err != nil {
		return spent{}, err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"changed":"%d"}}}`, time.Now().UnixNano())
	return s.measure(fmt.Sprintf("%d-%s", count, c.resource), manyWatchers, func() error {
		var group errgroup.Group
		for _, stream := range streams {
			group.Go(func() error { return awaitFrame(stream) })
		}
		err := drive(ctx, updaters, manyWatchers, func(i int) error {
			return client.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace(c.namespace(i)).
				Resource(c.resource).Name(c.name(i)).
				Body(patch).Do(ctx).Error()
		})
		if err != nil {
			cancel()
		}
		return errors.Join(err, group.Wait())
	})
}

// awaitFrame reads a watch until it has an event, and leaves it open.
func awaitFrame(stream io.Reader) error {
	buffer := make([]byte, 1<<10)
	for {
		n, err := stream.Read(buffer)
		if bytes.IndexByte(buffer[:n], '\n') >= 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("a watch ended before its event: %w", err)
		}
	}
}

// open opens watches at the current revision, and waits until the server has answered each.
func (c watcherGroup) open(ctx context.Context, config *rest.Config, client kubernetes.Interface,
	count int) ([]io.ReadCloser, error) {
	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	clients, err := connections(config, (count+streamsEach-1)/streamsEach)
	if err != nil {
		return nil, err
	}
	streams := make([]io.ReadCloser, count)
	return streams, drive(ctx, transports, count, func(i int) error {
		r := clients[i%len(clients)].Get().Resource(c.resource).Param("watch", "true").Param("resourceVersion",
			list.ResourceVersion)
		var err error
		streams[i], err = c.narrow(r, i*(manyWatchers/count)).Stream(ctx)
		return err
	})
}

// connections returns clients that have one connection each.
func connections(config *rest.Config, count int) ([]rest.Interface, error) {
	clients := make([]rest.Interface, count)
	for i := range clients {
		own := rest.CopyConfig(config)
		own.ContentType = runtime.ContentTypeJSON
		// client-go shares transports between configs, except between those with their own dialer
		own.Dial = (&net.Dialer{}).DialContext
		c, err := kubernetes.NewForConfig(own)
		if err != nil {
			return nil, err
		}
		clients[i] = c.CoreV1().RESTClient()
	}
	return clients, nil
}

// idleWatchers measures the server's memory for a watch without events.
func idleWatchers(what string, count, connectionCount int, target float64) measurement {
	return measurement{
		figures: []figure{{what + ": RssAnon each", kibibytes, target}},
		starts:  true,
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			before, err := s.settledRSS(ctx, client, namespace)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			clients, err := connections(s.config, connectionCount)
			if err != nil {
				return nil, err
			}
			err = drive(ctx, transports, count, func(i int) error {
				_, err := clients[i%len(clients)].Get().Namespace(namespace).Resource("configmaps").Param("watch",
					"true").Stream(ctx)
				return err
			})
			if err != nil {
				return nil, err
			}
			after, err := s.settledRSS(ctx, client, namespace)
			return []reading{{Value: (after - before) * 1024 / float64(count)}}, err
		}),
	}
}

// settledRSS returns RssAnon in MiB after a garbage collection, when the freed memory has been returned to the
// system.
func (s *server) settledRSS(ctx context.Context, client kubernetes.Interface, namespace string) (float64, error) {
	if _, err := s.liveHeap(ctx, client, namespace); err != nil {
		return 0, err
	}
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return s.process.anonymousMemory()
}
