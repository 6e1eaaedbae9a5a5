package clientgo_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
)

// untyped is what the factories of package dynamicinformer and of package metadatainformer have in common.
type untyped interface {
	Start(stop <-chan struct{})
	ForResource(schema.GroupVersionResource) informers.GenericInformer
	WaitForCacheSync(stop <-chan struct{}) map[schema.GroupVersionResource]bool
	Shutdown()
}

// listed describes the ConfigMaps in a namespace as a factory's lister has them.
func listed(t *testing.T, f untyped, namespace string) string {
	t.Helper()
	lister := f.ForResource(configMaps).Lister()
	stop := make(chan struct{})
	f.Start(stop)
	synced := f.WaitForCacheSync(stop)
	found := must(lister.ByNamespace(namespace).List(labels.Everything()))(t)
	close(stop)
	f.Shutdown()
	out := []string{fmt.Sprint(synced)}
	for _, obj := range found {
		out = append(out, descriptionOf(obj))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func descriptionOf(obj runtime.Object) string {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		value, _, _ := unstructured.NestedString(obj.Object, "data", "value")
		return fmt.Sprintf("%s %s/%s=%s", obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName(), value)
	case *metav1.PartialObjectMetadata:
		return fmt.Sprintf("%s %s/%s %v", obj.GroupVersionKind(), obj.Namespace, obj.Name, obj.Labels)
	}
	return fmt.Sprintf("a %T", obj)
}

// TestUntypedFactoriesMatchClientGo compares factories of every kind, whole and narrowed, with client-go's.
func TestUntypedFactoriesMatchClientGo(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		for name, color := range map[string]string{"a": "red", "b": "blue"} {
			must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"color": color}},
				Data:       map[string]string{"value": color},
			}, metav1.CreateOptions{}))(t)
		}
		dynamics, metadatas := must(dynamic.NewForConfig(p.RESTConfig()))(t),
			must(metadata.NewForConfig(p.RESTConfig()))(t)
		red := func(o *metav1.ListOptions) { o.LabelSelector = "color=red" }
		options := clientgo.FactoryOptions{Namespace: "default", Tweak: red}
		for _, source := range []client.Source{p.Source(), client.NewSource(must(client.New(p.RESTConfig()))(t))} {
			for name, pair := range map[string][2]untyped{
				"dynamic": {dynamicinformer.NewDynamicSharedInformerFactory(dynamics, 0),
					clientgo.NewDynamicSharedInformerFactory(source, 0)},
				"metadata": {metadatainformer.NewSharedInformerFactory(metadatas, 0),
					clientgo.NewMetadataSharedInformerFactory(source, 0)},
				"narrowed dynamic": {dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamics, 0, "default",
					red),
					must(clientgo.NewDynamicSharedInformerFactoryWithOptions(source, options))(t)},
				"narrowed metadata": {metadatainformer.NewFilteredSharedInformerFactory(metadatas, 0, "default", red),
					must(clientgo.NewMetadataSharedInformerFactoryWithOptions(source, options))(t)},
			} {
				theirs, ours := listed(t, pair[0], "default"), listed(t, pair[1], "default")
				if ours != theirs || !strings.Contains(theirs, "red") {
					t.Errorf("%s: ours has\n%s\nclient-go's has\n%s", name, ours, theirs)
				}
			}
		}
	})
}

func TestUntypedFactoriesTransform(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, _ kubernetes.Interface) {
		f := must(clientgo.NewMetadataSharedInformerFactoryWithOptions(p.Source(), clientgo.FactoryOptions{
			Namespace: "default", Transform: func(obj any) (any, error) {
				obj.(*metav1.PartialObjectMetadata).Labels = map[string]string{"transformed": "yes"}
				return obj, nil
			},
		}))(t)
		clients := must(kubernetes.NewForConfig(p.RESTConfig()))(t)
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
		if has := listed(t, f, "default"); !strings.Contains(has, "default/a map[transformed:yes]") {
			t.Errorf("a factory that transforms has %s", has)
		}
	})
}

// reduced is a ConfigMap type of a program that only needs some fields. Its embedded metadata can decode itself,
// without the other fields, from protobuf.
type reduced struct {
	metav1.PartialObjectMetadata `json:",inline"`
	Data                         map[string]string `json:"data"`
}

func (s *reduced) DeepCopyObject() runtime.Object {
	return &reduced{*s.DeepCopy(), maps.Clone(s.Data)}
}

func TestEmbeddedTypeIsDecodedCompletely(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
		for _, source := range []client.Source{p.Source(), client.NewSource(must(client.New(p.RESTConfig()))(t))} {
			i := clientgo.New(source, configMaps, &reduced{}, clientgo.Options{Namespace: "default"})
			ctx, cancel := context.WithCancel(t.Context())
			running := make(chan struct{})
			go func() { defer close(running); i.RunWithContext(ctx) }()
			synctest.Wait()
			found, _, _ := i.GetStore().GetByKey("default/a")
			if got, ok := found.(*reduced); !ok || got.Name != "a" || got.Data["k"] != "v" {
				t.Errorf("%T has %+v", source, found)
			}
			cancel()
			<-running
		}
	})
}
