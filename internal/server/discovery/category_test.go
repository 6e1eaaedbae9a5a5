package discovery

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// A category lists each kind in one group only, since kubectl get all requests it from each group.
func TestCategoriesAreListedInOneGroup(t *testing.T) {
	t.Parallel()
	info := &kind.Info{Categories: []string{"all"}, Endpoints: []kind.Endpoint{
		{Group: "apps", Version: "v1"}, {Group: "apps", Version: "v1beta2"}, {Group: "extensions", Version: "v1beta1"},
	}}
	for gv, want := range map[schema.GroupVersion]int{
		{Group: "apps", Version: "v1"}: 1, {Group: "apps", Version: "v1beta2"}: 1,
		{Group: "extensions", Version: "v1beta1"}: 0,
	} {
		if got := describeResource(info, gv).Categories; len(got) != want {
			t.Errorf("%s: categories %q, want %d", gv, got, want)
		}
	}
}
