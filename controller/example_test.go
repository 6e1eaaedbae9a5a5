package controller_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
)

// greeter writes a greeting into each ConfigMap that has a name to greet.
type greeter struct {
	maps   *controller.Objects[*corev1.ConfigMap]
	events *controller.Recorder
}

// Reconcile writes the greeting if it is missing or wrong.
func (g *greeter) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	cm, err := g.maps.Get(r.Namespace, r.Name)
	switch {
	case apierrors.IsNotFound(err):
		return controller.Result{}, nil // deleted
	case err != nil:
		return controller.Result{}, err
	}
	name, greeting := cm.Data["name"], "Hello, "+cm.Data["name"]
	switch {
	case name == "":
		return controller.Result{}, controller.Terminal(fmt.Errorf("no name to greet: set data.name"))
	case cm.Data["greeting"] == greeting:
		return controller.Result{}, nil
	}
	patch := fmt.Appendf(nil, `{"data":{"greeting":%q}}`, greeting)
	if _, err = g.maps.Client().Patch(ctx, r.Namespace, r.Name, "", types.MergePatchType, patch,
		metav1.PatchOptions{}); err == nil {
		g.events.Normal(cm, "Greeted", "%s was greeted", name)
	}
	return controller.Result{}, err
}

// A controller from start to end. Its config and source are those of a plane in the same process; for any other server,
// a config is enough.
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
	maps := controller.ObjectsOf[*corev1.ConfigMap](m, corev1.SchemeGroupVersion.WithResource("configmaps"))
	reconciler := &greeter{maps, m.Recorder("greeter")}
	if err := m.Build("greeter").For(maps, controller.ResourceVersionChanged).Complete(reconciler); err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()

	changes, err := maps.Client().Watch(ctx, "default", metav1.ListOptions{FieldSelector: "metadata.name=world"})
	if err != nil {
		panic(err)
	}
	defer changes.Stop()
	world := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "world"},
		Data: map[string]string{"name": "World"}}
	if _, err := maps.Client().Create(ctx, world, metav1.CreateOptions{}); err != nil {
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
