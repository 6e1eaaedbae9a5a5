package clusterroleaggregation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/clusterroleaggregation"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestRolesAreAggregatedDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Of(clusterroleaggregation.Add)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		r := bowlinetest.Explore(t, bowlinetest.Scenario{
			Options:    []bowlinetest.Option{trial.Alone()},
			Processes:  processes,
			Act:        changeRoles,
			Invariants: []func(bowlinetest.State) error{deletedRolesStayDeleted},
			Budget:     30,
		})
		t.Logf("%d fault points with %d instances", r.Tried(), len(processes))
	}
}

// changeRoles creates two aggregated roles, of which outer aggregates inner, changes the roles that inner aggregates,
// and deletes a third aggregated role right after a change of its rules.
func changeRoles(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	roles := client.For[*rbacv1.ClusterRole](c)
	for _, role := range []*rbacv1.ClusterRole{
		aggregated("outer", "", "outer"), aggregated("inner", "outer", "inner"), aggregated("brief", "", "inner"),
		plain("pods", "inner"), plain("nodes", "inner"), plain("secrets", "other"),
	} {
		if _, err := roles.Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	for _, change := range []struct{ name, patch string }{
		{"pods", `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}]}`},
		{"secrets", `{"metadata":{"labels":{"for":"inner"}}}`},
	} {
		if _, err := roles.Patch(ctx, "", change.name, "", types.MergePatchType, []byte(change.patch),
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	for _, name := range []string{"nodes", "brief"} {
		if err := roles.Delete(ctx, "", name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// aggregated returns a role with a label that aggregates the roles with another one.
func aggregated(name, label, selected string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"for": label}}}
	role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{"for": selected}},
	}}
	return role
}

// plain returns a role with a label and a rule for the resource of its name.
func plain(name, label string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"for": label}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{name}, Verbs: []string{"get"}}},
	}
}

// deletedRolesStayDeleted fails if the controller has recreated a role. Such a role has no aggregationRule.
func deletedRolesStayDeleted(s bowlinetest.State) error {
	for _, name := range []string{"outer", "inner", "brief"} {
		if role := s.Find("ClusterRole", "", name); role != nil && role.Object["aggregationRule"] == nil {
			return fmt.Errorf("the role %s was created again", name)
		}
	}
	return nil
}
