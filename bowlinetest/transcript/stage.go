package transcript

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// stage is the environment of a running transcript: a client, the objects as last observed, and the aliases
// of their names.
type stage struct {
	t         *testing.T
	client    *client.Client
	lists     discovery.DiscoveryInterface
	files     map[string][]byte
	start     time.Time
	observed  map[string]*unstructured.Unstructured // by resource, namespace and name
	owners    []string                              // names of the objects in observed
	names     aliases
	collapsed collapsed
}

// events are printed in their own format.
var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

func newStage(t *testing.T, p *bowlinetest.Plane, files []txtar.File) *stage {
	c, err := client.New(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{
		t: t, client: c, lists: discovery.NewDiscoveryClientForConfigOrDie(p.RESTConfig()),
		files: map[string][]byte{}, start: time.Now(), observed: map[string]*unstructured.Unstructured{},
		names: aliases{byName: map[string]string{}, counts: map[string]int{}}, collapsed: collapsed{},
	}
	for _, f := range files {
		s.files[f.Name] = f.Data
	}
	return s
}

// kinds returns the resources that can be listed, in one version each.
func (s *stage) kinds() map[schema.GroupVersionResource]metav1.APIResource {
	served, err := s.lists.ServerPreferredResources()
	if err != nil {
		s.t.Fatal(err)
	}
	kinds := map[schema.GroupVersionResource]metav1.APIResource{}
	for _, list := range served {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && gv.Group != "extensions" { // extensions has objects of other groups
				kinds[gv.WithResource(r.Name)] = r
			}
		}
	}
	return kinds
}

// resource finds a resource by its singular name.
func (s *stage) resource(singular string) (schema.GroupVersionResource, error) {
	for gvr, r := range s.kinds() {
		if r.SingularName == singular && gvr.Group != "events.k8s.io" {
			return gvr, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("unknown resource %s", singular)
}

func (s *stage) resourceClient(gvr schema.GroupVersionResource) client.Resource[*unstructured.Unstructured] {
	return client.Of[*unstructured.Unstructured](s.client, gvr)
}

// object is a listed object with the singular name of its resource.
type object struct {
	*unstructured.Unstructured
	singular string
	events   bool
}

// id returns RESOURCE/NAMESPACE/NAME with the singular name of the resource.
func (o object) id() string { return o.singular + "/" + o.GetNamespace() + "/" + o.GetName() }

// all lists all objects, sorted by id.
func (s *stage) all() (all []object) {
	for gvr, r := range s.kinds() {
		if gvr.Group == "events.k8s.io" {
			continue // the same objects as the core group's
		}
		page, err := s.resourceClient(gvr).Uninitialized().List(context.Background(), "", metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			if gvr.Resource == "ipaddresses" && item.GetLabels()[networkingv1.LabelManagedBy] != "" {
				continue // its service stands for it
			}
			all = append(all, object{item, r.SingularName, gvr == events})
		}
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.id(), b.id()) })
	return all
}
