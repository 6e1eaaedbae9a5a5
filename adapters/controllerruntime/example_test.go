package controllerruntime_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/controllerruntime"
)

// A manager of controller-runtime reads a plane in the same process. For another server, NewCache is
// controllerruntime.NewCache.
func ExampleOn() {
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		panic(err)
	}
	defer plane.Close()

	manager, err := ctrl.NewManager(plane.RESTConfig(), ctrl.Options{
		NewCache: controllerruntime.On(plane.Source()),
		Metrics:  server.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	<-manager.Elected()

	var namespace corev1.Namespace
	err = manager.GetClient().Get(ctx, client.ObjectKey{Name: "default"}, &namespace) // from the cache
	fmt.Println(namespace.Name, err)
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// default <nil>
	// ended: <nil>
}
