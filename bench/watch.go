package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	watcherCount = 1_000
	updateCount  = 500
	// updaters is the number of clients that write concurrently, each to its own object.
	updaters = 8
	// transports is the number of connections that the watchers share: a server accepts several hundred
	// streams on each.
	transports = 8
)

// watchers opens many watches of one resource, changes objects, and measures the time until every watcher has
// received every change.
func watchers() measurement {
	return measurement{
		figures: []figure{{"1,000 watchers on one resource, 500 updates: events", perSecond, 130_000}},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, updaters, updaters, createConfigMap(ctx, client, namespace)); err != nil {
				return nil, err
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			streams, err := openWatches(ctx, s.config, client, namespace)
			if err != nil {
				return nil, err
			}
			took, err := s.measure("watch", watcherCount*updateCount, func() error {
				return changeAndCount(ctx, cancel, client, namespace, streams)
			})
			if err != nil {
				return nil, err
			}
			return []reading{took.rate()}, nil
		}),
	}
}

// openWatches opens the watches at the current revision, and waits until the server has answered each.
func openWatches(ctx context.Context, config *rest.Config, client kubernetes.Interface,
	namespace string) ([]io.ReadCloser, error) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	clients, err := connections(config, transports)
	if err != nil {
		return nil, err
	}
	streams := make([]io.ReadCloser, watcherCount)
	return streams, drive(ctx, transports, watcherCount, func(i int) error {
		var err error
		streams[i], err = clients[i%transports].Get().Namespace(namespace).Resource("configmaps").
			Param("watch", "true").Param("resourceVersion", list.ResourceVersion).Stream(ctx)
		return err
	})
}

// changeAndCount changes the objects and reads every watch to its last event. The first error stops all of
// them.
func changeAndCount(ctx context.Context, cancel context.CancelFunc, client kubernetes.Interface, namespace string,
	streams []io.ReadCloser) error {
	var group errgroup.Group
	do := func(work func() error) {
		group.Go(func() error {
			err := work()
			if err != nil {
				cancel()
			}
			return err
		})
	}
	for _, stream := range streams {
		do(func() error { return countFrames(stream, updateCount) })
	}
	for i := range updaters {
		do(func() error { return update(ctx, client, namespace, configMap(i).Name, updateShare(i)) })
	}
	return group.Wait()
}

// updateShare returns the number of updates that updater i makes.
func updateShare(i int) int {
	return (updateCount + i) / updaters
}

// countFrames reads a watch until it has received so many events, one per line.
func countFrames(stream io.ReadCloser, want int) error {
	defer stream.Close()
	buffer := make([]byte, 64<<10)
	for frames := 0; frames < want; {
		n, err := stream.Read(buffer)
		frames += bytes.Count(buffer[:n], []byte("\n"))
		if errors.Is(err, io.EOF) && frames < want {
			return fmt.Errorf("the server closed a watch after %d of %d events", frames, want)
		}
		if err != nil && frames < want {
			return err
		}
	}
	return nil
}

// update changes one object repeatedly.
func update(ctx context.Context, client kubernetes.Interface, namespace, name string, times int) error {
	for i := range times {
		patch := fmt.Appendf(nil, `{"data":{"change":"%d"}}`, i)
		_, err := client.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, patch,
			metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}
