// Package history keeps what the templates of a workload were: StatefulSets and DaemonSets have each written down as a
// ControllerRevision, by which their pods are told apart, and of which `kubectl rollout undo` takes an old one back. It decides
// and does not act: the controllers carry out its actions.
package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// Resource is that of revisions.
var Resource = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")

// Data is a template as a revision has it: a strategic merge patch that gives it back to its workload. The bytes are Kubernetes'
// own, since names follow from them and kubectl compares them.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	plain, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(plain, &fields); err != nil {
		return nil, err
	}
	fields["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// TemplateOf is the template that a revision has.
func TemplateOf(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var data struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("ControllerRevision %s/%s has no template: %w", r.Namespace, r.Name, err)
	}
	if data.Spec.Template == nil {
		return nil, fmt.Errorf("ControllerRevision %s/%s has no template", r.Namespace, r.Name)
	}
	return data.Spec.Template, nil
}

// keeps says whether a revision has a template. It need not be in the same bytes: what another version wrote, or somebody by
// hand, makes the same pods.
func keeps(r *appsv1.ControllerRevision, template *corev1.PodTemplateSpec, data []byte) bool {
	if bytes.Equal(r.Data.Raw, data) {
		return true
	}
	kept, err := TemplateOf(r)
	return err == nil && equality.Semantic.DeepEqual(kept, template)
}

// byNumber sorts revisions, the oldest first.
func byNumber(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(
		cmp.Compare(a.Revision, b.Revision),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// Forget deletes the oldest of the revisions that nobody needs any more, so many at most; those that are being deleted already
// count. They are sorted by age.
func Forget(old []*appsv1.ControllerRevision, needed func(*appsv1.ControllerRevision) bool, excess int) (deleted []action.Action) {
	for _, r := range old {
		if excess <= 0 {
			break
		}
		if needed(r) {
			continue
		}
		if excess--; r.DeletionTimestamp == nil {
			deleted = append(deleted, action.Delete[*appsv1.ControllerRevision]{In: Resource, Object: r, Unchanged: true})
		}
	}
	return deleted
}
