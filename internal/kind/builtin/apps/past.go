package apps

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/bowline-dev/bowline/internal/kind"
)

// The versions in which workloads were declared before Kubernetes 1.16, which dropped them: old manifests still speak so.
// They are served with a warning. Their JSON is that of apps/v1 but for two fields, which apps/v1 keeps in annotations;
// what differs is what they default to.
var (
	beta1      = appsv1beta1.SchemeGroupVersion
	beta2      = appsv1beta2.SchemeGroupVersion
	extensions = extensionsv1beta1.SchemeGroupVersion
)

// bygone are a kind's endpoints in old versions: they warn, and a delete leaves dependents to themselves, since clients of
// that time removed them one by one.
func bygone[P any](versions map[string]kind.Version[P], kindName string, order ...schema.GroupVersion) (endpoints []kind.Endpoint) {
	for _, gv := range order {
		obj := versions[gv.String()].New()
		obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(kindName))
		endpoints = append(endpoints, kind.Endpoint{
			Group: gv.Group, Version: gv.Version, Orphans: true, Deprecated: deprecation.WarningMessage(obj),
		})
	}
	return endpoints
}

// past is an old version of a kind. upgrade gives a hub object, read of an old one, the defaults of that version and what
// else the hub has elsewhere; downgrade writes that back. Each may be nil.
func past[H, O any, PH kind.Pointer[H], PO kind.Pointer[O]](gv schema.GroupVersion, upgrade func(PH, PO), downgrade func(PO, PH)) kind.Version[PH] {
	return kind.Version[PH]{
		New: func() runtime.Object { return PO(new(O)) },
		ToHub: func(obj runtime.Object) (PH, error) {
			old, hub := obj.(PO), PH(new(H))
			err := rewrite(old, hub)
			if err == nil && upgrade != nil {
				upgrade(hub, old)
			}
			return hub, err
		},
		FromHub: func(hub PH) (runtime.Object, error) {
			old := PO(new(O))
			err := rewrite(hub, old)
			if err == nil && downgrade != nil {
				downgrade(old, hub)
			}
			old.GetObjectKind().SetGroupVersionKind(gv.WithKind(hub.GetObjectKind().GroupVersionKind().Kind))
			return old, err
		},
	}
}

// rewrite makes an object of another one with the same JSON. It is slow, and nobody is in a hurry with an old version.
func rewrite(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

func pastDeployments() map[string]kind.Version[*appsv1.Deployment] {
	return map[string]kind.Version[*appsv1.Deployment]{
		beta2.String(): past[appsv1.Deployment, appsv1beta2.Deployment](beta2, nil, nil),
		beta1.String(): past(beta1,
			func(d *appsv1.Deployment, old *appsv1beta1.Deployment) {
				if to := old.Spec.RollbackTo; to != nil {
					rollBack(d, to.Revision)
				}
				labelAs(&d.ObjectMeta, &d.Spec.Selector, &d.Spec.Template)
				orElse(&d.Spec.RevisionHistoryLimit, 2)
			},
			func(old *appsv1beta1.Deployment, d *appsv1.Deployment) {
				if revision, ok := rollback(d); ok {
					old.Spec.RollbackTo = &appsv1beta1.RollbackConfig{Revision: revision}
					delete(old.Annotations, appsv1.DeprecatedRollbackTo)
				}
			}),
		extensions.String(): past(extensions,
			func(d *appsv1.Deployment, old *extensionsv1beta1.Deployment) {
				if to := old.Spec.RollbackTo; to != nil {
					rollBack(d, to.Revision)
				}
				labelAs(&d.ObjectMeta, &d.Spec.Selector, &d.Spec.Template)
				oneByOne(&d.Spec.Strategy)
				orElse(&d.Spec.RevisionHistoryLimit, math.MaxInt32)
				orElse(&d.Spec.ProgressDeadlineSeconds, math.MaxInt32)
			},
			func(old *extensionsv1beta1.Deployment, d *appsv1.Deployment) {
				if revision, ok := rollback(d); ok {
					old.Spec.RollbackTo = &extensionsv1beta1.RollbackConfig{Revision: revision}
					delete(old.Annotations, appsv1.DeprecatedRollbackTo)
				}
			}),
	}
}

func pastReplicaSets() map[string]kind.Version[*appsv1.ReplicaSet] {
	return map[string]kind.Version[*appsv1.ReplicaSet]{
		beta2.String(): past[appsv1.ReplicaSet, appsv1beta2.ReplicaSet](beta2, nil, nil),
		extensions.String(): past(extensions,
			func(r *appsv1.ReplicaSet, _ *extensionsv1beta1.ReplicaSet) {
				labelAs(&r.ObjectMeta, &r.Spec.Selector, &r.Spec.Template)
			}, nil),
	}
}

func pastStatefulSets() map[string]kind.Version[*appsv1.StatefulSet] {
	return map[string]kind.Version[*appsv1.StatefulSet]{
		beta2.String(): past[appsv1.StatefulSet, appsv1beta2.StatefulSet](beta2, nil, nil),
		beta1.String(): past(beta1,
			func(s *appsv1.StatefulSet, _ *appsv1beta1.StatefulSet) {
				labelAs(&s.ObjectMeta, &s.Spec.Selector, &s.Spec.Template)
				if s.Spec.UpdateStrategy.Type == "" {
					s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
				}
			}, nil),
	}
}

func pastDaemonSets() map[string]kind.Version[*appsv1.DaemonSet] {
	return map[string]kind.Version[*appsv1.DaemonSet]{
		beta2.String(): past[appsv1.DaemonSet, appsv1beta2.DaemonSet](beta2, nil, nil),
		extensions.String(): past(extensions,
			func(d *appsv1.DaemonSet, old *extensionsv1beta1.DaemonSet) {
				labelAs(&d.ObjectMeta, &d.Spec.Selector, &d.Spec.Template)
				if d.Spec.UpdateStrategy.Type == "" {
					d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
				}
				setTemplates(d, old.Spec.TemplateGeneration)
			},
			func(old *extensionsv1beta1.DaemonSet, d *appsv1.DaemonSet) {
				if n, err := templatesOf(d); err == nil {
					old.Spec.TemplateGeneration = n
					delete(old.Annotations, templates)
				}
			}),
	}
}

func pastControllerRevisions() map[string]kind.Version[*appsv1.ControllerRevision] {
	return map[string]kind.Version[*appsv1.ControllerRevision]{
		beta2.String(): past[appsv1.ControllerRevision, appsv1beta2.ControllerRevision](beta2, nil, nil),
		beta1.String(): past[appsv1.ControllerRevision, appsv1beta1.ControllerRevision](beta1, nil, nil),
	}
}

// labelAs takes the labels of a template for the workload's own and for its selector, unless it has some.
func labelAs(meta *metav1.ObjectMeta, selector **metav1.LabelSelector, template *corev1.PodTemplateSpec) {
	if template.Labels == nil {
		return
	}
	if *selector == nil {
		*selector = &metav1.LabelSelector{MatchLabels: maps.Clone(template.Labels)}
	}
	if len(meta.Labels) == 0 {
		meta.Labels = maps.Clone(template.Labels)
	}
}

func orElse(field **int32, value int32) {
	if *field == nil {
		*field = &value
	}
}

// oneByOne: at first a rolling update replaced one pod at a time.
func oneByOne(s *appsv1.DeploymentStrategy) {
	if s.Type == "" {
		s.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	if s.RollingUpdate == nil {
		s.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	if s.RollingUpdate.MaxUnavailable == nil {
		s.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(1))
	}
	if s.RollingUpdate.MaxSurge == nil {
		s.RollingUpdate.MaxSurge = new(intstr.FromInt32(1))
	}
}

// rollBack notes to which revision the controller is to go back, as apps/v1 does: by annotation.
func rollBack(d *appsv1.Deployment, revision int64) {
	annotations := map[string]string{}
	maps.Copy(annotations, d.Annotations)
	annotations[appsv1.DeprecatedRollbackTo] = strconv.FormatInt(revision, 10)
	d.Annotations = annotations
}

func rollback(d *appsv1.Deployment) (revision int64, ok bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}
