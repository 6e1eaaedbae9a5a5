package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// childInitializer is the argument of a process with an initializer, and childOthers that of one with
// initializers of other resources.
const (
	childInitializer = "child-initializer"
	childOthers      = "child-others"
)

func init() { children[childInitializer], children[childOthers] = measureInitializer, measureOthers }

// initializerName is the name of the bench's initializer.
const initializerName = "label.initializer.bench.bowline.example.com"

// throughInitializer measures creates that wait for an initializer in the server's process.
func throughInitializer() measurement {
	return measurement{
		figures: []figure{{"create ConfigMap through one initializer in process, to visible: p50", milliseconds, 5}},
		starts:  true,
		run:     inChild(childInitializer),
	}
}

// initializersOfOthers measures the cost of initializers for creates of other resources.
func initializersOfOthers() measurement {
	return measurement{
		figures: []figure{
			{"two initializers configured that are for others: added to a create", microseconds, 3},
			{"the same, allocations a create", allocations, 2},
		},
		starts: true,
		run:    inChild(childOthers),
	}
}

func measureOthers(ctx context.Context, _ []string) error {
	return besides(ctx, func(ctx context.Context, config *rest.Config) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		return declareInitializers(ctx, c, "pods", initializerName, "second."+initializerName)
	})
}

// declareInitializers creates initializers of a core resource.
func declareInitializers(ctx context.Context, c *client.Client, resource string, names ...string) error {
	var all []any
	for _, name := range names {
		all = append(all, map[string]any{"name": name, "rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{resource},
		}}})
	}
	gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1alpha1",
		Resource: "initializerconfigurations"}
	_, err := client.Of[*unstructured.Unstructured](c, gvr).Create(ctx,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gvr.GroupVersion().String(), "kind": "InitializerConfiguration",
			"metadata": map[string]any{"name": "bench"}, "initializers": all,
		}}, metav1.CreateOptions{})
	return err
}

// measureInitializer runs a plane and an initializer that adds a label to each ConfigMap. It creates
// ConfigMaps one after another and prints the median time in milliseconds. A create returns when the object
// is visible.
func measureInitializer(ctx context.Context, _ []string) error {
	const creates = 1_000
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		return err
	}
	defer plane.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended, err := runInitializer(running, plane)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(withoutLimit(plane.RESTConfig()))
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range warmUp + creates {
		start := time.Now()
		made, err := clients.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d", i)}, Data: map[string]string{"data": kibibyte},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if made.Labels["initialized"] != "yes" {
			return fmt.Errorf("%s was created without the initializer", made.Name)
		}
		if i >= warmUp {
			took = append(took, time.Since(start))
		}
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	slices.Sort(took)
	return json.NewEncoder(os.Stdout).Encode([]float64{float64(took[len(took)/2].Microseconds()) / 1000})
}

// withoutLimit disables the rate limit of a config's clients.
func withoutLimit(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// runInitializer creates the configuration and runs the initializer until ctx ends.
func runInitializer(ctx context.Context, plane *bowline.Plane) (ended chan error, err error) {
	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{Source: plane.Source()})
	if err != nil {
		return nil, err
	}
	if err := declareInitializers(ctx, m.Client(), "configmaps", initializerName); err != nil {
		return nil, err
	}
	maps := corev1.SchemeGroupVersion.WithResource("configmaps")
	all := m.NewInformers(informer.FactoryOptions{Uninitialized: true})
	waiting := informer.For[*unstructured.Unstructured](all, maps)
	m.Add(controller.Options{
		Name: "labelling", Sources: []controller.Source{controller.For(waiting)}, Caches: []*informer.Factory{all},
		Reconciler: labeller{waiting.Lister(), client.Of[*corev1.ConfigMap](m.Client(), maps)},
	})
	ended = make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return ended, nil
}

// labeller adds the label to waiting objects.
type labeller struct {
	cached informer.Lister[*unstructured.Unstructured]
	maps   client.Resource[*corev1.ConfigMap]
}

// initialized adds the label and removes the only pending initializer.
var initialized = []byte(`{"metadata":{"labels":{"initialized":"yes"},"initializers":null}}`)

func (l labeller) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	u, err := l.cached.Get(r.Namespace, r.Name)
	if err != nil {
		return controller.Result{}, err
	}
	if pending, _, _ := unstructured.NestedSlice(u.Object, "metadata", "initializers", "pending"); len(pending) == 0 {
		return controller.Result{}, nil
	}
	_, err = l.maps.Patch(ctx, r.Namespace, r.Name, "", types.MergePatchType, initialized, metav1.PatchOptions{})
	return controller.Result{}, err
}
