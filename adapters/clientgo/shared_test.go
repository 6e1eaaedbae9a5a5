package clientgo_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/informer"
)

// TestInformerIsShared shares one cache between a controller of ours and client-go's listers.
func TestInformerIsShared(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		f := informer.NewFactory(p.Source(), informer.FactoryOptions{})
		native := informer.For[*corev1.ConfigMap](f, configMaps)
		adapted, again := clientgo.Informer[*corev1.ConfigMap](f, configMaps),
			clientgo.Informer[*corev1.ConfigMap](f, configMaps)
		byName := func(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }
		byKind := func(any) ([]string, error) { return []string{"ConfigMap"}, nil }
		for i, index := range map[cache.SharedIndexInformer]cache.IndexFunc{adapted: byName, again: byKind} {
			if err := i.AddIndexers(cache.Indexers{"mine": index}); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx) })
		running.Go(func() { adapted.RunWithContext(ctx) })
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(ctx, made, metav1.CreateOptions{}))(t)
		synctest.Wait()
		nativeObject, _ := native.Indexer().Get(informer.Key{Namespace: "default", Name: "a"})
		adaptedObject, _, _ := adapted.GetStore().GetByKey("default/a")
		if nativeObject != adaptedObject || !adapted.HasSynced() {
			t.Error("the object is not the same one")
		}
		named, _ := adapted.GetIndexer().ByIndex("mine", "a")
		kinds, _ := again.GetIndexer().ByIndex("mine", "ConfigMap")
		if len(named) != 1 || len(kinds) == 0 {
			t.Errorf("two indexes of one name find %d and %d objects", len(named), len(kinds))
		}
		if adapted.SetTransform(nil) == nil || adapted.SetWatchErrorHandler(nil) == nil {
			t.Error("a user of a shared informer can configure it")
		}
		cancel()
		running.Wait()
	})
}
