package informer_test

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/informer"
)

// A program caches the ConfigMaps of a server, is notified of each, and reads them by index.
func Example() {
	source := newPlane() // in a program, client.NewSource(c), or the Source of a plane in the same process
	source.put("blue", "sky")
	source.put("green", "grass")

	factory := informer.NewFactory(source, informer.FactoryOptions{})
	configMaps := informer.For[*corev1.ConfigMap](factory, configmaps)
	configMaps.Indexer().AddIndex("value", func(cm *corev1.ConfigMap) []string { return []string{cm.Data["value"]} })
	added := 0
	handler := configMaps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		Add: func(*corev1.ConfigMap, bool) { added++ },
	})

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { factory.Run(ctx) })

	if err := factory.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for cm := range configMaps.Indexer().Each("value", "grass") {
		fmt.Println(cm.Name, "has the value grass")
	}
	<-handler.Synced()
	fmt.Println("added:", added)

	// Output:
	// green has the value grass
	// added: 2
}

// A controller waits until its cache reflects what it has just written.
func ExampleInformer_WaitForRevision() {
	source := newPlane()
	configMaps := informer.New(source, configmaps, informer.Options[*corev1.ConfigMap]{})
	defer run(configMaps)()

	source.put("settings", "new") // in a program, a write whose answer has the revision
	key := informer.Key{Namespace: "ns", Name: "settings"}
	if err := configMaps.WaitForRevision(context.Background(), key, source.revision); err != nil {
		fmt.Println(err)
		return
	}
	cm, _ := configMaps.Indexer().Get(key)
	fmt.Println(cm.Data["value"])

	// Output: new
}
