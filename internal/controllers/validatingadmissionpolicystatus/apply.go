package validatingadmissionpolicystatus

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// manager is the field manager of the status. Kubernetes' controller has the same name.
const manager = "validatingadmissionpolicy-status"

// applyStatus sets the result of a check, unless the policy has changed since it was observed. It leaves the conditions
// to other field managers.
type applyStatus struct {
	policy *admissionv1.ValidatingAdmissionPolicy
	status admissionv1.ValidatingAdmissionPolicyStatus
}

// configuration is the body of a server-side apply. The UID and the resourceVersion prevent the update of a policy that
// has changed.
type configuration struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		TypeChecking       struct {
			// ExpressionWarnings must not be left out: an apply that removes the only field of typeChecking removes
			// typeChecking too.
			ExpressionWarnings []admissionv1.ExpressionWarning `json:"expressionWarnings"`
		} `json:"typeChecking"`
	} `json:"status"`
}

func (a applyStatus) String() string {
	return fmt.Sprintf("apply %d warnings of generation %d to validatingadmissionpolicy/%s",
		len(a.status.TypeChecking.ExpressionWarnings), a.status.ObservedGeneration, a.policy.Name)
}

func (a applyStatus) Do(ctx context.Context, exec *action.Executor) error {
	c := configuration{}
	c.Kind, c.APIVersion = "ValidatingAdmissionPolicy", admissionv1.SchemeGroupVersion.String()
	c.Metadata.Name, c.Metadata.UID = a.policy.Name, a.policy.UID
	c.Metadata.ResourceVersion = a.policy.ResourceVersion
	c.Status.ObservedGeneration = a.status.ObservedGeneration
	c.Status.TypeChecking.ExpressionWarnings = append([]admissionv1.ExpressionWarning{},
		a.status.TypeChecking.ExpressionWarnings...)
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = client.Of[*admissionv1.ValidatingAdmissionPolicy](exec.Client, resource).Patch(ctx, "", a.policy.Name,
		"status", types.ApplyYAMLPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: new(true)})
	return err
}
