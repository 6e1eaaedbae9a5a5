package daemonset

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/history"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// mergeDuplicates merges revisions that have the same template: it relabels the pods of the duplicates to the current
// revision, so that they are not replaced by identical pods, and then deletes the duplicates.
func (d *decision) mergeDuplicates() (actions []action.Action) {
	for _, duplicate := range d.history.Duplicates {
		if duplicate.DeletionTimestamp != nil {
			continue
		}
		if hash := hashOf(d.Set, duplicate); hash != d.factory.hash {
			for _, pod := range d.pods {
				if pod.DeletionTimestamp == nil && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash {
					actions = append(actions, relabel(pod, d.factory.hash))
				}
			}
		}
		actions = append(actions, action.Delete[*appsv1.ControllerRevision]{Resource: history.Resource,
			Object:      duplicate,
			IfUnchanged: true})
	}
	return actions
}

// relabel returns the action that assigns a pod to the revision with the given hash.
func relabel(pod *corev1.Pod, hash string) action.Action {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "labels": map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash},
	}})
	if err != nil {
		panic(err) // unreachable: the values are strings
	}
	return action.Patch[*corev1.Pod]{Resource: pods.Resource, Object: pod, Type: types.StrategicMergePatchType,
		Body: body, Verb: "relabel"}
}
