package clientgo

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// configMaps creates ConfigMaps named 0 to n-1; the label even states which numbers are even.
func configMaps(t *testing.T, c kubernetes.Interface, n int) {
	t.Helper()
	for i := range n {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i),
			Labels: map[string]string{"even": fmt.Sprint(i%2 == 0)}}}
		plane.Must(c.CoreV1().ConfigMaps(ns).Create(t.Context(), o, metav1.CreateOptions{}))(t)
	}
}

// recordEvents returns a handler that sends the type of each event and the object's name.
func recordEvents(to chan<- string) cache.ResourceEventHandler {
	name := func(o any) string {
		key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
		if err != nil {
			return err.Error()
		}
		return key
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { to <- "add " + name(o) },
		UpdateFunc: func(_, o any) { to <- "update " + name(o) },
		DeleteFunc: func(o any) { to <- "delete " + name(o) },
	}
}

func expectNotifications(t *testing.T, from <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-from; got != w {
			t.Errorf("got notifications %q, want %q", got, w)
		}
	}
}

func TestInformerFactoriesFollowTheServer(t *testing.T) {
	t.Parallel()
	config, ctx := plane.Start(t), t.Context()
	clients := plane.Must(kubernetes.NewForConfig(config))(t)
	configMaps(t, clients, 2)
	onlyEven := func(o *metav1.ListOptions) { o.LabelSelector = "even=true" }
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")

	typed := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(ns),
		informers.WithTweakListOptions(onlyEven))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(plane.Must(dynamic.NewForConfig(config))(t), 0,
		ns, onlyEven)
	metadatas := metadatainformer.NewFilteredSharedInformerFactory(plane.Must(metadata.NewForConfig(config))(t), 0, ns,
		onlyEven)
	all := map[string]cache.SharedIndexInformer{
		"typed":    typed.Core().V1().ConfigMaps().Informer(),
		"dynamic":  untyped.ForResource(resource).Informer(),
		"metadata": metadatas.ForResource(resource).Informer(),
	}
	notified := map[string]chan string{}
	for name, informer := range all {
		notified[name] = make(chan string, 16)
		plane.Must(informer.AddEventHandler(recordEvents(notified[name])))(t)
	}
	ctx, stop := context.WithCancel(ctx)
	defer typed.Shutdown()
	defer untyped.Shutdown()
	defer metadatas.Shutdown()
	defer stop()
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	metadatas.Start(ctx.Done())

	for name := range all {
		expectNotifications(t, notified[name], "add default/0")
	}
	one := plane.Must(clients.CoreV1().ConfigMaps(ns).Get(ctx, "1", metav1.GetOptions{}))(t)
	one.Labels["even"] = "true"
	one = plane.Must(clients.CoreV1().ConfigMaps(ns).Update(ctx, one, metav1.UpdateOptions{}))(t)
	one.Data = map[string]string{"k": "v"}
	one = plane.Must(clients.CoreV1().ConfigMaps(ns).Update(ctx, one, metav1.UpdateOptions{}))(t)
	one.Labels["even"] = "false"
	plane.Must(clients.CoreV1().ConfigMaps(ns).Update(ctx, one, metav1.UpdateOptions{}))(t)
	for name := range all {
		expectNotifications(t, notified[name], "add default/1", "update default/1", "delete default/1")
	}
	if l := plane.Must(typed.Core().V1().ConfigMaps().Lister().List(labels.Everything()))(t); len(l) != 1 ||
		l[0].Name != "0" {
		t.Errorf("got lister objects %v, want only 0", l)
	}
}

// oldServer is a ListerWatcher for a server without streaming lists.
type oldServer struct{ cache.ListerWatcher }

func (oldServer) IsWatchListSemanticsUnSupported() bool { return true }

// TestReflectorsListWithAndWithoutStreaming uses a streaming list, the current default of client-go, and list and
// watch.
func TestReflectorsListWithAndWithoutStreaming(t *testing.T) {
	t.Parallel()
	clients := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t)
	configMaps(t, clients, 600) // more than a page
	list := cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "configmaps", ns, fields.Everything())
	for name, source := range map[string]cache.ListerWatcher{"stream": list, "list": oldServer{list}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			informer := cache.NewSharedIndexInformer(source, &corev1.ConfigMap{}, 0, cache.Indexers{})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); informer.RunWithContext(ctx) }()
			cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
			if n := len(informer.GetStore().List()); n != 600 {
				t.Errorf("got %d objects in the informer, want 600", n)
			}
			stop()
			<-done
		})
	}
}

// TestReflectorListsAgainAfterExpiredRevision returns a revision from before the start of the server in the
// first list.
func TestReflectorListsAgainAfterExpiredRevision(t *testing.T) {
	t.Parallel()
	clients := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t)
	configMaps(t, clients, 1)
	client, lists := clients.CoreV1().ConfigMaps(ns), 0
	source := oldServer{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := client.List(ctx, o)
			if lists++; lists == 1 && err == nil {
				l.ResourceVersion, l.Items = "1", nil
			}
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, o)
		},
	}}
	notified := make(chan string, 1)
	informer := cache.NewSharedIndexInformer(source, &corev1.ConfigMap{}, 0, cache.Indexers{})
	plane.Must(informer.AddEventHandler(recordEvents(notified)))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	expectNotifications(t, notified, "add default/0")
	stop()
	<-done
	if lists != 2 {
		t.Errorf("got %d lists, want 2", lists)
	}
}
