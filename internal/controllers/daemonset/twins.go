package daemonset

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/history"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// join makes one of revisions that have the same template: the pods of the others become those of the last one, instead of being
// replaced by others that are just like them, and then the others go.
func (d *daemons) join() (actions []action.Action) {
	for _, twin := range d.line.Twins {
		if twin.DeletionTimestamp != nil {
			continue
		}
		if hash := hashOf(d.Set, twin); hash != d.hash {
			for _, pod := range d.pods {
				if pod.DeletionTimestamp == nil && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash {
					actions = append(actions, relabel(pod, d.hash))
				}
			}
		}
		actions = append(actions, action.Delete[*appsv1.ControllerRevision]{In: history.Resource, Object: twin, Unchanged: true})
	}
	return actions
}

// relabel says that a pod is of the revision with that hash.
func relabel(pod *corev1.Pod, hash string) action.Action {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "labels": map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash},
	}})
	if err != nil {
		panic(err) // strings
	}
	return action.Patch[*corev1.Pod]{In: pods.Resource, Object: pod, Type: types.StrategicMergePatchType, Body: body, Does: "relabel"}
}
