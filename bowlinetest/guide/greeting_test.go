// Package guide_test holds the examples of docs/testing.md.
package guide_test

import (
	"context"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Greeting is the kind that the operator reconciles.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreetingSpec   `json:"spec"`
	Status GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec names who is greeted, and for how long.
type GreetingSpec struct {
	Name string           `json:"name"`
	For  *metav1.Duration `json:"for,omitempty"`
}

// GreetingStatus holds the words of the greeting.
type GreetingStatus struct {
	Words string `json:"words,omitempty"`
}

// GreetingList is a list of greetings.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greeting `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (g *Greeting) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	c := &GreetingList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Greeting))
	}
	return c
}

var greetingsResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "greetings"}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(greetingsResource.GroupVersion(), &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(s, greetingsResource.GroupVersion())
	return nil
}

// greeter reconciles greetings, and deletes them when their time is over.
type greeter struct {
	cache  informer.Lister[*Greeting]
	server client.Resource[*Greeting]
	events *controller.Recorder
}

// add registers the operator with a manager.
func add(m *controller.Manager) error {
	greetings := informer.For[*Greeting](m.Informers(), greetingsResource)
	g := &greeter{greetings.Lister(), client.Of[*Greeting](m.Client(), greetingsResource), m.Recorder("greeter")}
	m.Add(controller.Options{
		Name: "greeter", Reconciler: controller.Func(g.reconcile),
		Sources: []controller.Source{controller.For(greetings)},
	})
	return nil
}

// run is what the operator's main calls.
func run(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := add(m); err != nil {
		return err
	}
	return m.Run(ctx)
}

func (g *greeter) reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	cached, err := g.cache.Get(request.Namespace, request.Name)
	if err != nil {
		return controller.Result{}, nil // it is gone
	}
	var left time.Duration
	if cached.Spec.For != nil {
		if left = time.Until(cached.CreationTimestamp.Add(cached.Spec.For.Duration)); left <= 0 {
			return controller.Result{}, g.server.Delete(ctx, request.Namespace, request.Name, metav1.DeleteOptions{})
		}
	}
	greeting := cached.DeepCopyObject().(*Greeting)
	greeting.Status.Words = "Hello, " + greeting.Spec.Name + "!"
	if greeting.Status != cached.Status {
		if _, err := g.server.UpdateStatus(ctx, greeting, metav1.UpdateOptions{}); err != nil {
			return controller.Result{}, err
		}
		g.events.Normal(greeting, "Greeted", "%s", greeting.Status.Words)
	}
	return controller.Result{RequeueAfter: left}, nil
}
