package clientgo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
)

func TestStoreIsReadOnly(t *testing.T) {
	t.Parallel()
	i := clientgo.New(&recordingSource{}, configMaps, &corev1.ConfigMap{}, clientgo.Options{})
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	store := i.GetStore()
	for call, err := range map[string]error{
		"Add": store.Add(obj), "Update": store.Update(obj), "Delete": store.Delete(obj),
		"Replace": store.Replace([]any{obj}, "1"),
	} {
		if err == nil {
			t.Errorf("%s of an object did not fail", call)
		} else {
			t.Log(err)
		}
	}
	if store.List(); len(store.List()) != 0 {
		t.Error("the store has an object that the server has not")
	}
}

// TestListsDoNotAllocatePerObject counts what a list by namespace and one by another index allocate, of a thousand
// objects.
func TestListsDoNotAllocatePerObject(t *testing.T) {
	p := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}}))(t)
	defer p.Close()
	clients := must(kubernetes.NewForConfig(p.RESTConfig()))(t)
	for n := range 1000 {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", n)},
			Data: map[string]string{"value": "all"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
	}
	i := clientgo.New(p.Source(), configMaps, &corev1.ConfigMap{},
		clientgo.Options{Namespace: "default", Indexers: byValue()})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { i.RunWithContext(ctx) })
	<-i.HasSyncedChecker().Done()
	for index, value := range map[string]string{cache.NamespaceIndex: "default", "value": "all"} {
		allocated := testing.AllocsPerRun(10, func() {
			if found, err := i.GetIndexer().ByIndex(index, value); err != nil || len(found) < 1000 {
				t.Fatalf("%d objects are found: %v", len(found), err)
			}
		})
		if allocated > 10 {
			t.Errorf("a list by %s allocates %v times", index, allocated)
		}
	}
	cancel()
	running.Wait()
}
