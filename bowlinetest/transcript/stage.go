package transcript

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// stage is where a transcript plays: the API, what was seen of it last, and what its objects are called.
type stage struct {
	t      *testing.T
	client *client.Client
	lists  discovery.DiscoveryInterface
	files  map[string][]byte
	begun  time.Time
	seen   map[string]*unstructured.Unstructured // by resource, namespace and name
	owners []string                              // the names of what is in seen
	names  aliases
	crowds crowds
}

// events are shown in a way of their own.
var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

func newStage(t *testing.T, p *bowlinetest.Plane, files []txtar.File) *stage {
	c, err := client.New(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{
		t: t, client: c, lists: discovery.NewDiscoveryClientForConfigOrDie(p.Config()),
		files: map[string][]byte{}, begun: time.Now(), seen: map[string]*unstructured.Unstructured{},
		names: aliases{of: map[string]string{}, made: map[string]int{}}, crowds: crowds{},
	}
	for _, f := range files {
		s.files[f.Name] = f.Data
	}
	return s
}

// kinds are the resources that can be listed, one version of each.
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
			if slices.Contains(r.Verbs, "list") && gv.Group != "extensions" { // whose objects are another group's too
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
	return schema.GroupVersionResource{}, fmt.Errorf("no resource is called %s", singular)
}

func (s *stage) of(gvr schema.GroupVersionResource) client.Resource[*unstructured.Unstructured] {
	return client.Of[*unstructured.Unstructured](s.client, gvr)
}

// object is one as it was listed, and what kind of thing it is.
type object struct {
	*unstructured.Unstructured
	singular string
	events   bool
}

// id is what the object is called in the API.
func (o object) id() string { return o.singular + "/" + o.GetNamespace() + "/" + o.GetName() }

// all lists everything, by name.
func (s *stage) all() (all []object) {
	for gvr, r := range s.kinds() {
		if gvr.Group == "events.k8s.io" {
			continue // the same objects as the core group's
		}
		page, err := s.of(gvr).Uninitialized().List(context.Background(), "", metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			all = append(all, object{item, r.SingularName, gvr == events})
		}
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.id(), b.id()) })
	return all
}
