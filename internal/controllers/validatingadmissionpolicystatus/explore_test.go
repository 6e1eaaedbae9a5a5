package validatingadmissionpolicystatus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/validatingadmissionpolicystatus"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestPoliciesAreCheckedDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Of(validatingadmissionpolicystatus.Add)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		r := bowlinetest.Explore(t, bowlinetest.Scenario{
			Options:    []bowlinetest.Option{trial.Alone()},
			Processes:  processes,
			Act:        changePolicies,
			Invariants: []func(bowlinetest.State) error{statusIsOfItsGeneration},
			Budget:     8,
		})
		t.Logf("%d fault points with %d instances", r.Tried(), len(processes))
	}
}

// changePolicies creates two policies, corrects one a minute later, and deletes a third right after its creation.
func changePolicies(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	policies := client.For[*admissionv1.ValidatingAdmissionPolicy](c)
	for _, name := range []string{"corrected", "wrong", "brief"} {
		if _, err := policies.Create(ctx, policy(name, "apps", "v1", "deployments", "object.spec.replicsa <= 5"),
			metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := policies.Delete(ctx, "", "brief", metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	_, err = policies.Patch(ctx, "", "corrected", "", types.MergePatchType,
		[]byte(`{"spec":{"validations":[{"expression":"object.spec.replicas <= 5"}]}}`), metav1.PatchOptions{})
	return err
}

// statusIsOfItsGeneration fails if the warnings of one generation were written as those of another, or if a deleted
// policy was created again.
func statusIsOfItsGeneration(s bowlinetest.State) error {
	for _, name := range []string{"corrected", "wrong", "brief"} {
		obj := s.Find("ValidatingAdmissionPolicy", "", name)
		if obj == nil {
			continue
		}
		if obj.Object["spec"] == nil {
			return fmt.Errorf("the policy %s was created again", name)
		}
		status, _ := obj.Object["status"].(map[string]any)
		checked, _ := status["typeChecking"].(map[string]any)
		warnings, _ := checked["expressionWarnings"].([]any)
		want := 1
		if name == "corrected" && fmt.Sprint(status["observedGeneration"]) == "2" {
			want = 0
		}
		if checked != nil && len(warnings) != want {
			return fmt.Errorf("the status of %s is %v", name, status)
		}
	}
	return nil
}
