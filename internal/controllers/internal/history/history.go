// Package history records the templates of StatefulSets and DaemonSets as ControllerRevisions. Pods are
// labeled with the revision of their template, and kubectl rollout undo restores an old one. The package only
// returns actions; the controllers carry them out.
package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Resource is the resource of ControllerRevisions.
var Resource = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")

// EncodeTemplate returns the data of a template's revision: a strategic merge patch that restores the
// template. The bytes equal those of Kubernetes, because revision names are hashes of them and kubectl
// compares them.
func EncodeTemplate(template *corev1.PodTemplateSpec) ([]byte, error) {
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

// DecodeTemplate returns the template of a revision.
func DecodeTemplate(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
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

// hasTemplate reports whether a revision has a template. The encoded bytes may differ, as when another
// version or a user wrote them.
func hasTemplate(r *appsv1.ControllerRevision, template *corev1.PodTemplateSpec, data []byte) bool {
	if bytes.Equal(r.Data.Raw, data) {
		return true
	}
	decoded, err := DecodeTemplate(r)
	return err == nil && equality.Semantic.DeepEqual(decoded, template)
}

// byNumber orders revisions by number, the oldest first.
func byNumber(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(
		cmp.Compare(a.Revision, b.Revision),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// Prune returns the deletions of the oldest revisions that are not needed, at most excess of them. Revisions
// that are being deleted already count toward excess. old is sorted by age.
func Prune(old []*appsv1.ControllerRevision, needed func(*appsv1.ControllerRevision) bool,
	excess int) (deleted []action.Action) {
	for _, r := range old {
		if excess <= 0 {
			break
		}
		if needed(r) {
			continue
		}
		if excess--; r.DeletionTimestamp == nil {
			deleted = append(deleted, action.Delete[*appsv1.ControllerRevision]{Resource: Resource, Object: r,
				IfUnchanged: true})
		}
	}
	return deleted
}
