// Package clusterroleaggregation implements the controller that writes the rules of each ClusterRole with an
// aggregationRule: the union of the rules of the ClusterRoles that its selectors match.
//
// The controller uses server-side apply, as Kubernetes' does: if the selectors match no rules, it removes the rules
// that it has set and leaves those of other field managers. Unlike Kubernetes', it writes only to the observed version
// of a role. A stale cache therefore neither overwrites a newer change nor creates a deleted role again.
//
// decide.go computes the actions from what was observed, without I/O.
package clusterroleaggregation

import (
	"context"
	"maps"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "clusterrole-aggregation"

const (
	// workers is the number of ClusterRoles processed concurrently.
	workers = 5
	// chainDelay is the delay of the roles that aggregate another aggregated role. It limits the rate of writes if
	// roles that aggregate each other do not agree on the order of their rules.
	chainDelay = 200 * time.Millisecond
)

var resource = rbacv1.SchemeGroupVersion.WithResource("clusterroles")

// aggregated is the name of the index of the ClusterRoles with an aggregationRule, and its only value.
const aggregated = "aggregated"

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	a := &aggregator{
		roles:    informer.For[*rbacv1.ClusterRole](m.Informers(), resource),
		executor: action.NewExecutor(m, manager),
	}
	a.roles.Indexer().AddIndex(aggregated, func(role *rbacv1.ClusterRole) []string {
		if !aggregates(role) {
			return nil
		}
		return []string{aggregated}
	})
	return m.Add(controller.Options{
		Name: Name, Reconciler: a, Workers: workers,
		Sources: []controller.Source{
			controller.For(a.roles, controller.If(func(_, now *rbacv1.ClusterRole) bool { return aggregates(now) })),
			controller.Watches(a.roles, a.all, controller.If(func(old, now *rbacv1.ClusterRole) bool {
				return contributes(old, now) && !aggregates(old) && !aggregates(now)
			})),
			controller.WatchesLater(a.roles, chainDelay, a.all, controller.If(func(old, now *rbacv1.ClusterRole) bool {
				return contributes(old, now) && (aggregates(old) || aggregates(now))
			})),
		},
	})
}

// aggregates reports whether a role, which may be nil, has an aggregationRule.
func aggregates(role *rbacv1.ClusterRole) bool { return role != nil && role.AggregationRule != nil }

// contributes reports whether a change of a role can change the rules of roles that aggregate it.
func contributes(old, now *rbacv1.ClusterRole) bool {
	return old == nil || now == nil || !maps.Equal(old.Labels, now.Labels) ||
		!equality.Semantic.DeepEqual(old.Rules, now.Rules)
}

// aggregator reconciles one ClusterRole per request.
type aggregator struct {
	roles    *informer.Informer[*rbacv1.ClusterRole]
	executor *action.Executor
	// backoff delays writes of rules in a conflict loop with another client that sets them.
	backoff action.StatusBackoff[[]rbacv1.PolicyRule]
}

// all returns the requests of all roles with an aggregationRule. Matching their selectors is left to Reconcile, which
// handles many changes at once.
func (a *aggregator) all(*rbacv1.ClusterRole) (requests []controller.Request) {
	for role := range a.roles.Indexer().Each(aggregated, aggregated) {
		requests = append(requests, informer.KeyOf(role))
	}
	return requests
}

// Reconcile writes the rules of a ClusterRole. A conflict, like any other error, is retried.
func (a *aggregator) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	role, err := a.roles.Indexer().Find(request)
	if apierrors.IsNotFound(err) || err == nil && !aggregates(role) {
		a.backoff.Delete(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	rules, err := aggregate(role, a.roles.Indexer().List())
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	wait := a.backoff.Delay(request, role.Rules, rules)
	result, err := a.executor.Do(ctx, decide(role, rules, wait)...)
	if err == nil && wait == 0 {
		a.backoff.Written(request, rules)
	}
	return result, err
}
