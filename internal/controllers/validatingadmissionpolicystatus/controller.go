// Package validatingadmissionpolicystatus implements the controller that checks the types of the expressions of
// ValidatingAdmissionPolicies and writes the warnings to the status of the policy, for example that a Deployment has no
// field spec.replicsa. The warnings do not change what the policy does.
//
// A policy is checked once per generation. As in Kubernetes, the validations and their message expressions are checked
// against the kinds that the rules name; a kind that the server does not serve at that time causes no warnings. Unlike
// Kubernetes' controller, this one checks a policy again if it cannot read a schema, and limits the number of kinds
// and the length of the warnings. It does not import Kubernetes' checker, which links all clients and informers of
// client-go.
//
// check.go computes the warnings, and decide.go the actions, from what was read, without I/O.
package validatingadmissionpolicystatus

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "validatingadmissionpolicy-status-controller"

// workers is the number of policies checked concurrently. A check occupies a processor.
const workers = 2

var resource = admissionv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	c := &typeChecker{
		policies: informer.For[*admissionv1.ValidatingAdmissionPolicy](m.Informers(), resource),
		client:   m.Client(),
		executor: action.NewExecutor(m, manager),
	}
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{
			controller.For(c.policies, controller.If(func(_, now *admissionv1.ValidatingAdmissionPolicy) bool {
				return now == nil || unchecked(now)
			})),
		},
	})
}

// unchecked reports whether the status of a policy lacks the result for the current generation.
func unchecked(policy *admissionv1.ValidatingAdmissionPolicy) bool {
	return policy.Generation > policy.Status.ObservedGeneration
}

// typeChecker reconciles one policy per request.
type typeChecker struct {
	policies *informer.Informer[*admissionv1.ValidatingAdmissionPolicy]
	client   *client.Client
	executor *action.Executor
	// backoff delays writes of a status in a conflict loop with another client that sets it.
	backoff action.StatusBackoff[admissionv1.ValidatingAdmissionPolicyStatus]
}

// Reconcile writes the status of a policy. A conflict, like any other error, is retried.
func (c *typeChecker) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	policy, err := c.policies.Indexer().Find(request)
	if apierrors.IsNotFound(err) {
		c.backoff.Delete(request)
		return controller.Result{}, nil
	}
	if err != nil || !unchecked(policy) {
		return controller.Result{}, err
	}
	warnings, err := c.check(ctx, policy)
	if err != nil {
		return controller.Result{}, err
	}
	next := statusOf(policy.Generation, &admissionv1.TypeChecking{ExpressionWarnings: warnings})
	wait := c.backoff.Delay(request, statusOf(policy.Status.ObservedGeneration, policy.Status.TypeChecking), next)
	result, err := c.executor.Do(ctx, decide(policy, next, wait)...)
	if err == nil && wait == 0 {
		c.backoff.Written(request, next)
	}
	return result, err
}

// check reads the types that a policy names and returns the warnings about its expressions.
func (c *typeChecker) check(ctx context.Context, policy *admissionv1.ValidatingAdmissionPolicy) (
	[]admissionv1.ExpressionWarning, error) {
	expressions := expressionsOf(policy)
	if policy.Spec.MatchConstraints == nil || len(expressions) == 0 {
		return nil, nil
	}
	served, err := fetchKinds(ctx, c.client)
	if err != nil {
		return nil, err
	}
	kinds := served.matched(policy.Spec.MatchConstraints.ResourceRules)
	kinds = kinds[:min(len(kinds), maxKindsFor(policy.Spec.Variables, expressions))]
	if len(kinds) == 0 {
		return nil, nil
	}
	from := schemas{client: c.client}
	declared := declarations{variables: policy.Spec.Variables}
	if declared.paramKind = paramKind(policy); !declared.paramKind.Empty() {
		if declared.params, _, err = from.declare(ctx, declared.paramKind, "1"); err != nil {
			return nil, err
		}
	}
	results := make([]string, len(expressions))
	for _, kind := range kinds {
		object, found, err := from.declare(ctx, kind, "0")
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if err := declared.check(ctx, kind, object, expressions, results); err != nil {
			return nil, err
		}
	}
	return warningsOf(expressions, results), nil
}
