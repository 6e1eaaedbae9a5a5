package bowlinetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
)

// resources maps Go objects to the resources that a plane serves them as.
type resources struct {
	schemes []*runtime.Scheme // of the registered types

	mu     sync.Mutex
	served map[schema.GroupVersion][]metav1.APIResource
}

// newResources knows the types of Kubernetes and those registered with other, which may be nil.
func newResources(other *resources) *resources {
	r := &resources{
		schemes: []*runtime.Scheme{kubernetes.Scheme, apiextensions.Scheme},
		served:  map[schema.GroupVersion][]metav1.APIResource{},
	}
	if other != nil {
		r.schemes = slices.Clone(other.schemes)
	}
	return r
}

// mapping is the resource of a kind.
type mapping struct {
	schema.GroupVersionResource
	namespaced, hasStatus bool
}

// kindOf returns the kind in an object's apiVersion and kind, or that of its Go type if these are empty.
func (r *resources) kindOf(object client.Object) (schema.GroupVersionKind, error) {
	if kind := object.GetObjectKind().GroupVersionKind(); !kind.Empty() {
		return kind, nil
	}
	for _, scheme := range r.schemes {
		if kinds, _, err := scheme.ObjectKinds(object); err == nil {
			return kinds[0], nil
		}
	}
	return schema.GroupVersionKind{},
		fmt.Errorf("the kind of a %T is not known: set its apiVersion and kind, or give the AddToScheme "+
			"of its package to bowlinetest.Types", object)
}

// find returns the resource of a kind. It requests the discovery document of a group version only if a cached
// one does not have the kind.
func (r *resources) find(ctx context.Context, server rest.Interface, kind schema.GroupVersionKind) (mapping, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	version := kind.GroupVersion()
	if p, ok := mappingOf(kind, r.served[version]); ok {
		return p, nil
	}
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	var list metav1.APIResourceList
	body, err := server.Get().AbsPath(path).DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return mapping{},
			fmt.Errorf("the plane serves no %s, the version of %s: give its definition to bowlinetest.CRDs or Types (%w)",
				version, kind.Kind, err)
	}
	r.served[version] = list.APIResources
	if p, ok := mappingOf(kind, list.APIResources); ok {
		return p, nil
	}
	return mapping{}, fmt.Errorf("%s has no kind %s on the plane: give its definition to bowlinetest.CRDs or Types",
		version, kind.Kind)
}

func mappingOf(kind schema.GroupVersionKind, served []metav1.APIResource) (mapping, bool) {
	i := slices.IndexFunc(served, func(s metav1.APIResource) bool {
		return s.Kind == kind.Kind && slices.Contains(s.Verbs, "get") && slices.Contains(s.Verbs, "watch")
	})
	if i < 0 {
		return mapping{}, false
	}
	p := mapping{GroupVersionResource: kind.GroupVersion().WithResource(served[i].Name),
		namespaced: served[i].Namespaced}
	p.hasStatus = slices.ContainsFunc(served, func(s metav1.APIResource) bool { return s.Name == p.Resource+"/status" })
	return p, true
}
