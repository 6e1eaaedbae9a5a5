package doctor

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
)

// workload is an object with a pod template and a selector for the pods that it manages.
type workload struct {
	kind     string
	object   metav1.Object
	selector labels.Selector
	template labels.Set
}

func (w workload) String() string { return w.kind + "/" + w.object.GetName() }

// selectors finds pairs of workloads where one selects the pods of the other. Their controllers then delete
// or count each other's pods.
func (d *doctor) selectors(ctx context.Context) error {
	all, err := d.workloads(ctx)
	if err != nil {
		return err
	}
	for a, b := range pairsByNamespace(all, func(w workload) string { return w.object.GetNamespace() }) {
		if !a.selector.Matches(b.template) && !b.selector.Matches(a.template) {
			continue
		}
		both := func(set labels.Set) bool { return a.selector.Matches(set) && b.selector.Matches(set) }
		pods, err := d.pods(ctx, a.object.GetNamespace(), both)
		if err != nil {
			return err
		}
		d.findings = append(d.findings, finding{
			Blocker: fmt.Sprintf("%s and %s in %s", a, b, a.object.GetNamespace()),
			Problem: fmt.Sprintf("select the same pods: %s, and %s", a.selector, b.selector), Waiting: pods,
			Help: "add a distinct label to the selector and the template of each",
		})
	}
	return nil
}

// pairsByNamespace yields every pair of elements of the same namespace, ordered by namespace and then by
// position in all.
func pairsByNamespace[T any](all []T, namespace func(T) string) iter.Seq2[T, T] {
	byNamespace := map[string][]T{}
	for _, one := range all {
		byNamespace[namespace(one)] = append(byNamespace[namespace(one)], one)
	}
	return func(yield func(a, b T) bool) {
		for _, name := range slices.Sorted(maps.Keys(byNamespace)) {
			for i, a := range byNamespace[name] {
				for _, b := range byNamespace[name][i+1:] {
					if !yield(a, b) {
						return
					}
				}
			}
		}
	}
}

// podsIn returns the metadata of the pods in a namespace. It lists each namespace once.
func (d *doctor) podsIn(ctx context.Context, namespace string) (all []*metav1.PartialObjectMetadata, err error) {
	if all, known := d.podsOf[namespace]; known {
		return all, nil
	}
	pods := client.Of[*metav1.PartialObjectMetadata](d.client, corev1.SchemeGroupVersion.WithResource("pods"))
	for pod, err := range pods.All(ctx, namespace, metav1.ListOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		all = append(all, pod)
	}
	d.podsOf[namespace] = all
	return all, nil
}

// pods returns the names of the pods in a namespace whose labels match.
func (d *doctor) pods(ctx context.Context, namespace string,
	matches func(labels.Set) bool) (names []string, err error) {
	all, err := d.podsIn(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, pod := range all {
		if matches(pod.Labels) {
			names = append(names, "pods/"+pod.Name+" in "+namespace)
		}
	}
	return names, nil
}

// workloads returns the workloads that have no controller owner: a Deployment, but not its ReplicaSets.
func (d *doctor) workloads(ctx context.Context) (all []workload, err error) {
	for _, list := range []func() error{
		func() error {
			return eachWorkload(ctx, d, "deployment", &all,
				func(o *appsv1.Deployment) (*metav1.LabelSelector, labels.Set) {
					return o.Spec.Selector, o.Spec.Template.Labels
				})
		},
		func() error {
			return eachWorkload(ctx, d, "replicaset", &all,
				func(o *appsv1.ReplicaSet) (*metav1.LabelSelector, labels.Set) {
					return o.Spec.Selector, o.Spec.Template.Labels
				})
		},
		func() error {
			return eachWorkload(ctx, d, "statefulset", &all,
				func(o *appsv1.StatefulSet) (*metav1.LabelSelector, labels.Set) {
					return o.Spec.Selector, o.Spec.Template.Labels
				})
		},
		func() error {
			return eachWorkload(ctx, d, "daemonset", &all,
				func(o *appsv1.DaemonSet) (*metav1.LabelSelector, labels.Set) {
					return o.Spec.Selector, o.Spec.Template.Labels
				})
		},
		func() error {
			return eachWorkload(ctx, d, "replicationcontroller", &all,
				func(o *corev1.ReplicationController) (*metav1.LabelSelector, labels.Set) {
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

// eachWorkload appends the workloads of one kind that have a valid selector and no controller owner.
func eachWorkload[T client.Object](ctx context.Context, d *doctor, kind string, all *[]workload,
	of func(T) (*metav1.LabelSelector, labels.Set)) error {
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

// budgets finds pods that two disruption budgets select. The server refuses to evict such pods.
func (d *doctor) budgets(ctx context.Context) error {
	var all []*policyv1.PodDisruptionBudget
	for b, err := range client.For[*policyv1.PodDisruptionBudget](d.client).All(ctx, "", metav1.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("listing budgets: %w", err)
		}
		all = append(all, b)
	}
	for a, b := range pairsByNamespace(all, (*policyv1.PodDisruptionBudget).GetNamespace) {
		one, err := metav1.LabelSelectorAsSelector(a.Spec.Selector)
		other, otherErr := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || otherErr != nil {
			continue
		}
		pods, err := d.pods(ctx, a.Namespace, func(set labels.Set) bool {
			return one.Matches(set) && other.Matches(set)
		})
		if err != nil {
			return err
		}
		if len(pods) > 0 {
			d.findings = append(d.findings, finding{
				Blocker: fmt.Sprintf("poddisruptionbudget/%s and poddisruptionbudget/%s in %s", a.Name, b.Name,
					a.Namespace),
				Problem: "match the same pods, which therefore cannot be evicted", Waiting: pods,
				Help: "change the selectors so that at most one budget matches each pod",
			})
		}
	}
	return nil
}
