package action_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/action"
)

// What is gone need not be changed or deleted; of what is not served as it was nobody knows whether it is gone.
func TestWhatIsNotServedIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	var hand *action.Hand
	bowlinetest.Bubble(t, func(t *testing.T, _ *bowlinetest.Plane) {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u", ResourceVersion: "1"}}
		for version, want := range map[string]error{"v1": nil, "v0": action.ErrUnserved} {
			in := schema.GroupVersionResource{Version: version, Resource: "configmaps"}
			for _, a := range []action.Action{
				action.Patch[*corev1.ConfigMap]{In: in, Object: obj, Type: types.MergePatchType, Body: []byte(`{}`), Does: "change"},
				action.Delete[*corev1.ConfigMap]{In: in, Object: obj},
			} {
				if _, err := hand.Do(t.Context(), a); !errors.Is(err, want) {
					t.Errorf("%s in %s ends with %v, not %v", a, version, err, want)
				}
			}
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		hand = action.NewHand(m, "test")
		return nil
	}))
}
