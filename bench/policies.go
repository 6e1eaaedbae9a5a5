package main

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// policies is the number of policies of the rows.
const policies = 10

// createsUnderPolicies measures creates that ten policies of two expressions each validate.
func createsUnderPolicies(clients, count int, target float64) measurement {
	return rate("create ConfigMap of 1 KiB under ten policies, "+by(clients), fmt.Sprintf("policies-%d", clients), clients,
		count, target, func(ctx context.Context, s *server, namespace string) (func(i int) error, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			return createConfigMap(ctx, client, namespace), validate(ctx, client, "configmaps")
		})
}

// validate creates ten policies of a core resource, each with a binding, which permit what the bench creates.
func validate(ctx context.Context, client kubernetes.Interface, resource string) error {
	rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource},
		},
	}}
	for i := range policies {
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d", i)},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule},
				},
				Validations: []admissionregistrationv1.Validation{
					{Expression: "object.metadata.name.startsWith('bench')"},
					{Expression: fmt.Sprintf("!has(object.data) || size(object.data) < %d", 1000+i)},
				},
			},
		}
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: policy.ObjectMeta,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        policy.Name,
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}
		api := client.AdmissionregistrationV1()
		if _, err := api.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := api.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// childOtherPolicies is the argument of a process with policies that match no write.
const childOtherPolicies = "child-other-policies"

func init() { children[childOtherPolicies] = measureOtherPolicies }

// policiesOfOthers measures the cost of policies for writes of other resources.
func policiesOfOthers() measurement {
	return measurement{
		figures: []figure{
			{"ten policies that do not match: added to a create", microseconds, 3},
			{"the same for policies, allocations", allocations, 2},
		},
		starts: true,
		run:    inChild(childOtherPolicies),
	}
}

func measureOtherPolicies(ctx context.Context, _ []string) error {
	return besides(ctx, func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		return validate(ctx, client, "pods")
	})
}
