package clientgo_test

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
)

// A program that is written for client-go's informers reads a plane in the same process. For another server, the source
// is client.NewSource.
func ExampleNewSharedInformerFactory() {
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		panic(err)
	}
	defer plane.Close()

	factory := clientgo.NewSharedInformerFactory(plane.Source(), 0)
	defer factory.Shutdown()
	defer cancel()
	namespaces := factory.Core().V1().Namespaces().Lister()
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)

	namespace, err := namespaces.Get("default")
	fmt.Println(namespace.Name, err)
	// Output:
	// default <nil>
}
