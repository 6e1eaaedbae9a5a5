package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
)

// workload is what makes pods and looks after those that it selects.
type workload struct {
	kind     string
	object   metav1.Object
	selector labels.Selector
	template labels.Set
}

func (w workload) String() string { return w.kind + "/" + w.object.GetName() }

// selectors finds workloads that select each other's pods: each takes away, or counts, what the other makes.
func (d *doctor) selectors(ctx context.Context) error {
	all, err := d.workloads(ctx)
	if err != nil {
		return err
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.object.GetNamespace() != b.object.GetNamespace() || !a.selector.Matches(b.template) && !b.selector.Matches(a.template) {
				continue
			}
			pods, err := d.pods(ctx, a.object.GetNamespace(), func(set labels.Set) bool { return a.selector.Matches(set) && b.selector.Matches(set) })
			if err != nil {
				return err
			}
			d.found = append(d.found, hanging{
				Who:     fmt.Sprintf("%s and %s in %s", a, b, a.object.GetNamespace()),
				Problem: fmt.Sprintf("select the same pods: %s, and %s", a.selector, b.selector), Waiting: pods,
				Help: "give each of them a label of its own, in its selector and in its template",
			})
		}
	}
	return nil
}

// pods names those of a namespace whose labels match.
func (d *doctor) pods(ctx context.Context, namespace string, matches func(labels.Set) bool) (names []string, err error) {
	for pod, err := range client.For[*corev1.Pod](d.client).All(ctx, namespace, metav1.ListOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		if matches(pod.Labels) {
			names = append(names, "pods/"+pod.Name+" in "+namespace)
		}
	}
	return names, nil
}

// workloads are those that nobody has made: of a Deployment's ReplicaSets, the Deployment.
func (d *doctor) workloads(ctx context.Context) (all []workload, err error) {
	for _, list := range []func() error{
		func() error {
			return eachWorkload(ctx, d, "deployment", &all, func(o *appsv1.Deployment) (*metav1.LabelSelector, labels.Set) {
				return o.Spec.Selector, o.Spec.Template.Labels
			})
		},
		func() error {
			return eachWorkload(ctx, d, "replicaset", &all, func(o *appsv1.ReplicaSet) (*metav1.LabelSelector, labels.Set) {
				return o.Spec.Selector, o.Spec.Template.Labels
			})
		},
		func() error {
			return eachWorkload(ctx, d, "statefulset", &all, func(o *appsv1.StatefulSet) (*metav1.LabelSelector, labels.Set) {
				return o.Spec.Selector, o.Spec.Template.Labels
			})
		},
		func() error {
			return eachWorkload(ctx, d, "daemonset", &all, func(o *appsv1.DaemonSet) (*metav1.LabelSelector, labels.Set) {
				return o.Spec.Selector, o.Spec.Template.Labels
			})
		},
		func() error {
			return eachWorkload(ctx, d, "replicationcontroller", &all, func(o *corev1.ReplicationController) (*metav1.LabelSelector, labels.Set) {
				if o.Spec.Template == nil {
					return nil, nil
				}
				return &metav1.LabelSelector{MatchLabels: o.Spec.Selector}, o.Spec.Template.Labels
			})
		},
	} {
		if err := list(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// eachWorkload adds the workloads of a kind.
func eachWorkload[T client.Object](ctx context.Context, d *doctor, kind string, all *[]workload, of func(T) (*metav1.LabelSelector, labels.Set)) error {
	for obj, err := range client.For[T](d.client).All(ctx, "", metav1.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("listing %ss: %w", kind, err)
		}
		selects, template := of(obj)
		selector, err := metav1.LabelSelectorAsSelector(selects)
		if err == nil && metav1.GetControllerOfNoCopy(obj) == nil {
			*all = append(*all, workload{kind, obj, selector, template})
		}
	}
	return nil
}

// budgets finds pods that two disruption budgets guard: the server refuses to evict them.
func (d *doctor) budgets(ctx context.Context) error {
	var all []*policyv1.PodDisruptionBudget
	for b, err := range client.For[*policyv1.PodDisruptionBudget](d.client).All(ctx, "", metav1.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("listing budgets: %w", err)
		}
		all = append(all, b)
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.Namespace != b.Namespace {
				continue
			}
			one, err := metav1.LabelSelectorAsSelector(a.Spec.Selector)
			other, wrong := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil || wrong != nil {
				continue
			}
			pods, err := d.pods(ctx, a.Namespace, func(set labels.Set) bool { return one.Matches(set) && other.Matches(set) })
			if err != nil {
				return err
			}
			if len(pods) > 0 {
				d.found = append(d.found, hanging{
					Who:     fmt.Sprintf("poddisruptionbudget/%s and poddisruptionbudget/%s in %s", a.Name, b.Name, a.Namespace),
					Problem: "guard the same pods, which nobody can evict", Waiting: pods,
					Help: "have one budget for each pod",
				})
			}
		}
	}
	return nil
}
