package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	theirqueue "k8s.io/client-go/util/workqueue"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/workqueue"
)

// recordedEvents plays a recorded list and watch to informers, without a server: through the cache and a
// queue to a worker that reads each Pod from the cache.
func recordedEvents() measurement {
	return measurement{
		figures: []figure{
			{"recorded events of Pods, protobuf, to a worker: client-go's time / ours", timesFaster, 3},
			{"the same, lazily decoded", timesFaster, 3},
			{"recorded events of Pods, JSON, to a worker: client-go's time / ours", timesFaster, 3},
			{"the same, lazily decoded, JSON", timesFaster, 3},
		},
		starts: true,
		run:    inChild(childRecorded),
	}
}

const (
	recordedPods   = 1_000
	recordedRounds = 20 // how often each Pod changes
	recordedTurns  = 3
)

// measureRecorded prints the figures of recordedEvents.
func measureRecorded(ctx context.Context, _ []string) error {
	os.Setenv("KUBE_FEATURE_WatchListClient", "false") // the recording is a list and a watch
	var figures []float64
	for _, contentType := range []string{kruntime.ContentTypeProtobuf, kruntime.ContentTypeJSON} {
		r, err := record(contentType)
		if err != nil {
			return err
		}
		var theirs, ours, lazy time.Duration
		for range recordedTurns { // alternate, so that all run under the same conditions
			for _, side := range []struct {
				total *time.Duration
				play  func(context.Context, *sync.WaitGroup, *rest.Config, *seen) error
			}{{&theirs, playTheirs}, {&ours, playOurs(false)}, {&lazy, playOurs(true)}} {
				took, err := r.play(ctx, side.play)
				if err != nil {
					return err
				}
				*side.total += took
			}
		}
		figures = append(figures, theirs.Seconds()/ours.Seconds(), theirs.Seconds()/lazy.Seconds())
		const events = recordedPods * recordedRounds * recordedTurns
		fmt.Fprintf(os.Stderr, "%s: client-go %.0f events/s, ours %.0f, lazy %.0f\n",
			contentType, events/theirs.Seconds(), events/ours.Seconds(), events/lazy.Seconds())
	}
	return json.NewEncoder(os.Stdout).Encode(figures)
}

// recording is the response of a server to a list and a subsequent watch.
type recording struct {
	contentType string
	list, watch []byte
	last        int // the revision of the last event
}

// record creates a recording in which each Pod changes in each round.
func record(contentType string) (*recording, error) {
	r := &recording{contentType: contentType, last: 1_000}
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	list.ResourceVersion = strconv.Itoa(r.last)
	for i := range recordedPods {
		pod := pod(i)
		pod.Namespace, pod.UID, pod.ResourceVersion = "default",
			types.UID(fmt.Sprintf("3f0b1b1e-7a3c-4c1b-9d55-%012d", i)), "1"
		list.Items = append(list.Items, *pod)
	}
	var err error
	if r.list, err = r.encode(list); err != nil {
		return nil, err
	}
	for range recordedRounds {
		for i := range list.Items {
			r.last++
			pod := &list.Items[i]
			pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
			pod.ResourceVersion = strconv.Itoa(r.last)
			data, err := r.encode(pod)
			if err != nil {
				return nil, err
			}
			r.watch = object.AppendFrame(r.watch, watch.Modified, r.format(), bytes.TrimSpace(data))
		}
	}
	return r, nil
}

func (r *recording) format() object.Format {
	if r.contentType == kruntime.ContentTypeProtobuf {
		return object.Protobuf
	}
	return object.JSON
}

func (r *recording) encode(obj kruntime.Object) ([]byte, error) {
	if r.format() == object.JSON {
		return json.Marshal(obj)
	}
	var data bytes.Buffer
	err := protobuf.NewSerializer(nil, nil).Encode(obj, &data)
	return data.Bytes(), err
}

// RoundTrip plays the recording: the list, and then the watch, which does not end by itself.
func (r *recording) RoundTrip(q *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {r.contentType}},
		Request: q}
	answer.Body = io.NopCloser(bytes.NewReader(r.list))
	if q.URL.Query().Get("watch") != "" {
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(r.watch), untilEnd{q.Context()}))
	}
	return answer, nil
}

// untilEnd is a reader that blocks until its context ends.
type untilEnd struct{ ctx context.Context }

func (u untilEnd) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, io.EOF
}

// seen records which Pods a worker has observed. It is done when the last state of every Pod was observed.
type seen struct {
	from int // the last states have later revisions
	left map[string]struct{}
	done chan struct{}
}

func (s *seen) pod(p *corev1.Pod) {
	if revision, err := strconv.Atoi(p.ResourceVersion); err != nil || revision <= s.from || len(s.left) == 0 {
		return
	}
	if delete(s.left, p.Name); len(s.left) == 0 {
		close(s.done)
	}
}

// play returns the time from the start until a worker has observed all Pods.
func (r *recording) play(ctx context.Context,
	side func(context.Context, *sync.WaitGroup, *rest.Config, *seen) error) (time.Duration, error) {
	s := &seen{from: r.last - recordedPods, left: map[string]struct{}{}, done: make(chan struct{})}
	for i := range recordedPods {
		s.left[pod(i).Name] = struct{}{}
	}
	liveHeap() // collects garbage of the previous one
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	config := &rest.Config{Host: "http://recorded", Transport: r, QPS: -1}
	config.ContentType, config.AcceptContentTypes = r.contentType, r.contentType
	start := time.Now()
	if err := side(ctx, &running, config, s); err != nil {
		return 0, err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	return time.Since(start), ctx.Err()
}

func playTheirs(ctx context.Context, running *sync.WaitGroup, config *rest.Config, s *seen) error {
	typed, err := speaking(config, config.ContentType)
	if err != nil {
		return err
	}
	i := coreinformers.NewPodInformer(typed, "default", 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	queue := theirqueue.NewTypedRateLimitingQueue(theirqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	add := func(obj any) {
		if name, err := cache.ObjectToName(obj); err == nil {
			queue.Add(name)
		}
	}
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) {
		add(obj)
	}}); err != nil {
		return err
	}
	running.Go(func() { i.RunWithContext(ctx) })
	context.AfterFunc(ctx, queue.ShutDown)
	running.Go(func() {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			if obj, ok, err := i.GetIndexer().GetByKey(key.String()); ok && err == nil {
				s.pod(obj.(*corev1.Pod))
			}
			queue.Forget(key)
			queue.Done(key)
		}
	})
	return nil
}

// playOurs plays to our informer, which accepts either format.
func playOurs(lazy bool) func(context.Context, *sync.WaitGroup, *rest.Config, *seen) error {
	return func(ctx context.Context, running *sync.WaitGroup, config *rest.Config, s *seen) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		i := informer.New(client.NewSource(c), corev1.SchemeGroupVersion.WithResource("pods"),
			informer.Options[*corev1.Pod]{Namespace: "default", Lazy: lazy})
		queue := workqueue.New(workqueue.DefaultLimiter[informer.Key]())
		add := func(pod *corev1.Pod) { queue.Add(informer.KeyOf(pod)) }
		i.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
			Add: func(pod *corev1.Pod, _ bool) { add(pod) }, Update: func(_, pod *corev1.Pod) { add(pod) },
		})
		running.Go(func() { i.Run(ctx) })
		running.Go(func() {
			for {
				key, ok := queue.Get(ctx)
				if !ok {
					return
				}
				if obj, err := i.Lister().Get(key.Namespace, key.Name); err == nil {
					s.pod(obj)
				}
				queue.Forget(key)
				queue.Done(key)
			}
		})
		return nil
	}
}
