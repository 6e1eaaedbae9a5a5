package clusterroleaggregation

import (
	"context"
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// manager is the field manager of the rules. Kubernetes' controller has the same name.
const manager = "clusterrole-aggregation-controller"

// applyRules sets the rules of a role, unless the role has changed since it was observed. The field manager becomes
// their only owner. With an empty list, the field manager gives up its ownership, which removes the rules that it has
// set.
type applyRules struct {
	role  *rbacv1.ClusterRole
	rules []rbacv1.PolicyRule
}

// configuration is the body of a server-side apply. The UID prevents the creation of a role, and the resourceVersion
// the update of one that has changed.
type configuration struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`
}

func (a applyRules) String() string {
	return fmt.Sprintf("apply %d rules to clusterrole/%s", len(a.rules), a.role.Name)
}

func (a applyRules) Do(ctx context.Context, exec *action.Executor) error {
	c := configuration{Rules: a.rules}
	c.Kind, c.APIVersion = "ClusterRole", rbacv1.SchemeGroupVersion.String()
	c.Metadata.Name, c.Metadata.UID, c.Metadata.ResourceVersion = a.role.Name, a.role.UID, a.role.ResourceVersion
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = client.Of[*rbacv1.ClusterRole](exec.Client, resource).Patch(ctx, "", a.role.Name, "",
		types.ApplyYAMLPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: new(true)})
	return err
}
