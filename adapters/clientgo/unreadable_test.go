package clientgo_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/informer"
)

// Client-go's listers say NotFound of what a store does not have, which an object that cannot be read is not.
func TestListersReportUndecodableObjects(t *testing.T) {
	t.Parallel()
	for side := range sides {
		if side == "client-go" { // whose informer is stuck then
			continue
		}
		on(t, side, func(w *testPlane) []string {
			w.set("default/a=1")
			i := w.make(clientgo.Options{})
			if err := i.SetTransform(func(obj any) (any, error) {
				if obj.(*corev1.ConfigMap).Data["value"] == "1" {
					return nil, errors.New("not that")
				}
				return obj, nil
			}); err != nil {
				t.Fatal(err)
			}
			defer w.run(i)()
			maps := v1.NewConfigMapLister(i.GetIndexer()).ConfigMaps("default")
			var unreadable *informer.UnreadableError
			if _, err := maps.Get("a"); !errors.As(err, &unreadable) || apierrors.IsNotFound(err) {
				t.Errorf("%s: of what cannot be read the lister says %v", side, err)
			}
			if _, err := maps.Get("b"); !apierrors.IsNotFound(err) {
				t.Errorf("%s: missing object: got error %v", side, err)
			}
			if _, found, err := i.GetStore().Get(cache.ExplicitKey("default/a")); found || err == nil {
				t.Errorf("%s: of what cannot be read the store says %t, %v", side, found, err)
			}
			w.set("default/a=2")
			if obj, err := maps.Get("a"); err != nil || obj.Data["value"] != "2" {
				t.Errorf("%s: of what can be read again the lister says %v, %v", side, obj, err)
			}
			return nil
		})
	}
}
