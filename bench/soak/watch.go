package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// streams is the number of watches that share a connection.
const streams = 100

// watchers are the open watches, each of one namespace, and every tenth only of its red objects.
type watchers struct {
	events atomic.Int64
	counts []atomic.Int64
	group  errgroup.Group
	// counted receives a value when events have been counted after the end of the load.
	counted chan struct{}
}

func watchedNamespace(watcher int) int { return watcher % namespaces }
func watchesRed(watcher int) bool      { return watcher/namespaces%10 == 9 }

// openWatches opens n watches at the current revision, and counts their events until ctx ends.
func openWatches(ctx context.Context, config *rest.Config, n int) (*watchers, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	all, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	w := &watchers{counts: make([]atomic.Int64, n), counted: make(chan struct{}, 1)}
	var connection rest.Interface
	for i := range n {
		if i%streams == 0 {
			if connection, err = connect(config); err != nil {
				return nil, err
			}
		}
		request := connection.Get().Namespace(namespaceName(watchedNamespace(i))).Resource("configmaps").
			Param("watch", "true").Param("timeoutSeconds", "36000").Param("resourceVersion", all.ResourceVersion)
		if watchesRed(i) {
			request = request.Param("labelSelector", "colour=red")
		}
		stream, err := request.Stream(ctx)
		if err != nil {
			return nil, fmt.Errorf("watch %d: %w", i, err)
		}
		w.group.Go(func() error { return w.count(ctx, i, stream) })
	}
	return w, nil
}

// connect returns a client with its own connection.
func connect(config *rest.Config) (rest.Interface, error) {
	own := rest.CopyConfig(config)
	own.ContentType = runtime.ContentTypeJSON
	// client-go shares transports between configs, except between those with their own dialer
	own.Dial = (&net.Dialer{}).DialContext
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	return client.CoreV1().RESTClient(), nil
}

// count counts the events of a watch, one per line. It returns an error if the watch ends before ctx.
func (w *watchers) count(ctx context.Context, watcher int, stream io.ReadCloser) error {
	defer stream.Close()
	buffer := make([]byte, 8<<10)
	for {
		n, err := stream.Read(buffer)
		events := int64(bytes.Count(buffer[:n], []byte("\n")))
		w.events.Add(events)
		w.counts[watcher].Add(events)
		select {
		case w.counted <- struct{}{}:
		default:
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch %d ended after %d events: %w", watcher, w.counts[watcher].Load(), err)
		}
	}
}

// complete waits until every watcher has received every event of the load, which has ended.
func (w *watchers) complete(ctx context.Context, l *load) error {
	timeout := time.NewTimer(30 * time.Second)
	defer timeout.Stop()
	for {
		err := w.missing(l)
		if err == nil {
			return nil
		}
		select {
		case <-w.counted:
		case <-timeout.C:
			return err
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// missing returns an error that names a watcher which lacks events.
func (w *watchers) missing(l *load) error {
	for i := range w.counts {
		expected := &l.expected[watchedNamespace(i)]
		want := expected.all.Load()
		if watchesRed(i) {
			want = expected.red.Load()
		}
		if got := w.counts[i].Load(); got != want {
			return fmt.Errorf("watch %d of %s has %d events of %d", i, namespaceName(watchedNamespace(i)), got, want)
		}
	}
	return nil
}
