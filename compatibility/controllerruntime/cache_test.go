package controllerruntime

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestCacheHoldsSelectedObjects checks selection by kind, namespace, label and field, lists by index,
// and updates.
func TestCacheHoldsSelectedObjects(t *testing.T) {
	t.Parallel()
	config, c := startWithShips(t)
	ctx, stop := context.WithCancel(t.Context())
	ok(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}))
	for _, where := range []string{ns, "other"} {
		for name, crew := range map[string]string{"a": "six", "b": "six", "c": "two"} {
			labels := map[string]string{"name": name}
			ok(t, c.Create(ctx, &Ship{ObjectMeta: metav1.ObjectMeta{Namespace: where, Name: name},
				Spec: ShipSpec{Crew: crew}}))
			ok(t,
				c.Create(ctx,
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: where, Name: name, Labels: labels},
						Data: labels}))
		}
	}
	held := plane.Must(cache.New(config, cache.Options{
		Scheme: c.Scheme(), Mapper: c.RESTMapper(),
		DefaultNamespaces: map[string]cache.Config{ns: {}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{"name": "a"}), Transform: dropData},
			&corev1.Namespace{}: {Field: fields.OneTermEqualSelector("metadata.name", "other")},
		},
	}))(t)
	ok(t, held.IndexField(ctx, &Ship{}, "crew", func(o client.Object) []string {
		return []string{o.(*Ship).Spec.Crew}
	}))
	ended := make(chan error)
	go func() { ended <- held.Start(ctx) }()
	defer func() { stop(); ok(t, <-ended) }()
	held.WaitForCacheSync(ctx)

	var ships ShipList
	ok(t, held.List(ctx, &ships, client.MatchingFields{"crew": "six"}))
	if len(ships.Items) != 2 || ships.Items[0].Namespace != ns {
		t.Errorf("crew six: got %v, want 2 ships of the namespace %s", ships.Items, ns)
	}
	var configMaps corev1.ConfigMapList
	ok(t, held.List(ctx, &configMaps))
	if len(configMaps.Items) != 1 || configMaps.Items[0].Name != "a" || configMaps.Items[0].Data != nil {
		t.Errorf("got ConfigMaps %v, want a without data", configMaps.Items)
	}
	var namespaces corev1.NamespaceList
	ok(t, held.List(ctx, &namespaces))
	if len(namespaces.Items) != 1 || namespaces.Items[0].Name != "other" {
		t.Errorf("got namespaces %v, want other", namespaces.Items)
	}
	informer := plane.Must(held.GetInformer(ctx, &Ship{}))(t)
	updated := make(chan *Ship, 8)
	plane.Must(informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, o any) {
		updated <- o.(*Ship)
	}}))(t)
	ships.Items[0].Spec.Crew = "seven"
	ok(t, c.Update(ctx, &ships.Items[0]))
	<-updated
	ok(t, held.List(ctx, &ships, client.MatchingFields{"crew": "seven"}))
	if len(ships.Items) != 1 {
		t.Errorf("crew seven: got %v, want one ship", ships.Items)
	}
}

func dropData(o any) (any, error) {
	if c, ok := o.(*corev1.ConfigMap); ok {
		c.Data = nil
	}
	return o, nil
}

// TestCacheOfMetadataAndMaps caches the same objects as metadata and as unstructured objects.
func TestCacheOfMetadataAndMaps(t *testing.T) {
	t.Parallel()
	config, c := startWithShips(t)
	ctx, stop := context.WithCancel(t.Context())
	ok(t, c.Create(ctx, &Ship{ObjectMeta: named("a")}))
	held := plane.Must(cache.New(config, cache.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()}))(t)
	ended := make(chan error)
	go func() { ended <- held.Start(ctx) }()
	defer func() { stop(); ok(t, <-ended) }()
	held.WaitForCacheSync(ctx)
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(v2.WithKind("ShipList"))
	ok(t, held.List(ctx, partial))
	if len(partial.Items) != 1 || partial.Items[0].Name != "a" || partial.Items[0].UID == "" {
		t.Errorf("got metadata %v, want that of a", partial.Items)
	}
}
