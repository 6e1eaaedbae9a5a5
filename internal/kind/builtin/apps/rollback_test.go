package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRollbackSetsAnnotation(t *testing.T) {
	t.Parallel()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"by": "hand"}}}
	err := deploymentRollback.Apply(d, &extensionsv1beta1.DeploymentRollback{
		Name: "web", RollbackTo: extensionsv1beta1.RollbackConfig{Revision: 3},
		UpdatedAnnotations: map[string]string{"why": "it broke"},
	})
	if err != nil || d.Annotations[appsv1.DeprecatedRollbackTo] != "3" || d.Annotations["why"] != "it broke" ||
		d.Annotations["by"] != "hand" {
		t.Errorf("after the rollback (%v): annotations %v", err, d.Annotations)
	}
}

func TestInvalidRollbackIsRejected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		r    extensionsv1beta1.DeploymentRollback
		want string
	}{
		{extensionsv1beta1.DeploymentRollback{}, `DeploymentRollback.apps "" is invalid: name: Required value`},
		{extensionsv1beta1.DeploymentRollback{Name: "other"},
			"name in URL does not match name in DeploymentRollback object"},
		{
			extensionsv1beta1.DeploymentRollback{Name: "web",
				RollbackTo: extensionsv1beta1.RollbackConfig{Revision: -1}},
			`DeploymentRollback.apps "web" is invalid: rollback.version: Invalid value: -1: must be greater than or equal to 0`,
		},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		if err := deploymentRollback.Apply(d, &test.r); err == nil || err.Error() != test.want ||
			len(d.Annotations) > 0 {
			t.Errorf("rollback %+v: %v, want %s; annotations %v, want none", test.r, err, test.want, d.Annotations)
		}
	}
}
