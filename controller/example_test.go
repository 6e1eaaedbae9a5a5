package controller_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// greeter writes a greeting into each ConfigMap that has a name to greet.
type greeter struct {
	cached informer.Lister[*corev1.ConfigMap]
	maps   client.Resource[*corev1.ConfigMap]
	events *controller.Recorder
}

// Reconcile compares what is declared with what is there, and makes it so.
func (g *greeter) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	cm, err := g.cached.Get(r.Namespace, r.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil // nothing is declared any more
	}
	name, greeting := cm.Data["name"], "Hello, "+cm.Data["name"]
	switch {
	case name == "":
		return controller.Result{}, controller.Terminal(fmt.Errorf("nobody to greet: set data.name"))
	case cm.Data["greeting"] == greeting:
		return controller.Result{}, nil
	}
	patch := fmt.Appendf(nil, `{"data":{"greeting":%q}}`, greeting)
	if _, err = g.maps.Patch(ctx, r.Namespace, r.Name, "", types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
		g.events.Normal(cm, "Greeted", "%s was greeted", name)
	}
	return controller.Result{}, err
}

// A controller from start to end. On a plane in the same process it takes config and source from there; against any other
// server, config is enough.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		panic(err)
	}
	defer plane.Close()

	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{
		Source:         plane.Source(),
		Log:            log,
		LeaderElection: &controller.LeaderElection{Name: "greeter"},
	})
	if err != nil {
		panic(err)
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	maps := informer.For[*corev1.ConfigMap](m.Informers(), resource)
	resources := client.Of[*corev1.ConfigMap](m.Client(), resource)
	m.Add(controller.Options{
		Name:       "greeter",
		Reconciler: &greeter{maps.Lister(), resources, m.Recorder("greeter")},
		Sources:    []controller.Source{controller.For(maps, controller.ResourceVersionChanged)},
	})
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()

	changes, err := resources.Watch(ctx, "default", metav1.ListOptions{FieldSelector: "metadata.name=world"})
	if err != nil {
		panic(err)
	}
	defer changes.Stop()
	world := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "world"}, Data: map[string]string{"name": "World"}}
	if _, err := resources.Create(ctx, world, metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	for world.Data["greeting"] == "" {
		if _, world, err = changes.Next(); err != nil {
			panic(err)
		}
	}
	fmt.Println(world.Data["greeting"])
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// Hello, World
	// ended: <nil>
}
