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

// The versions of workloads before Kubernetes 1.16, which removed them; old manifests still use them. They
// are served with a deprecation warning. Their JSON is that of apps/v1 except for two fields, which apps/v1
// represents as annotations; and they have different defaults.
var (
	beta1      = appsv1beta1.SchemeGroupVersion
	beta2      = appsv1beta2.SchemeGroupVersion
	extensions = extensionsv1beta1.SchemeGroupVersion
)

// oldEndpoints returns a kind's endpoints in old versions, with a deprecation warning. Deletes orphan dependents by
// default, because clients of that time deleted dependents themselves.
func oldEndpoints[P any](versions map[string]kind.Version[P], kindName string,
	order ...schema.GroupVersion) (endpoints []kind.Endpoint) {
	for _, gv := range order {
		obj := versions[gv.String()].New()
		obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(kindName))
		endpoints = append(endpoints, kind.Endpoint{
			Group: gv.Group, Version: gv.Version, Orphans: true, Deprecated: deprecation.WarningMessage(obj),
		})
	}
	return endpoints
}

// oldVersion returns an old version of a kind. upgrade sets the defaults of that version in a hub object, and the
// fields that the hub represents differently; downgrade converts these fields back. Each may be nil.
func oldVersion[H, O any, PH kind.Pointer[H], PO kind.Pointer[O]](gv schema.GroupVersion, upgrade func(PH, PO),
	downgrade func(PO, PH)) kind.Version[PH] {
	return kind.Version[PH]{
		New: func() runtime.Object { return PO(new(O)) },
		ToHub: func(obj runtime.Object) (PH, error) {
			old, hub := obj.(PO), PH(new(H))
			err := convertJSON(old, hub)
			if err == nil && upgrade != nil {
				upgrade(hub, old)
			}
			return hub, err
		},
		FromHub: func(hub PH) (runtime.Object, error) {
			old := PO(new(O))
			err := convertJSON(hub, old)
			if err == nil && downgrade != nil {
				downgrade(old, hub)
			}
			old.GetObjectKind().SetGroupVersionKind(gv.WithKind(hub.GetObjectKind().GroupVersionKind().Kind))
			return old, err
		},
	}
}

// convertJSON converts an object through JSON. It is slow, which does not matter for old versions.
func convertJSON(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

func oldDeployments() map[string]kind.Version[*appsv1.Deployment] {
	return map[string]kind.Version[*appsv1.Deployment]{
		beta2.String(): oldVersion[appsv1.Deployment, appsv1beta2.Deployment](beta2, nil, nil),
		beta1.String(): oldVersion(beta1,
			func(d *appsv1.Deployment, old *appsv1beta1.Deployment) {
				if to := old.Spec.RollbackTo; to != nil {
					setRollback(d, to.Revision)
				}
				defaultLabels(&d.ObjectMeta, &d.Spec.Selector, &d.Spec.Template)
				orElse(&d.Spec.RevisionHistoryLimit, 2)
			},
			func(old *appsv1beta1.Deployment, d *appsv1.Deployment) {
				if revision, ok := rollbackRevision(d); ok {
					old.Spec.RollbackTo = &appsv1beta1.RollbackConfig{Revision: revision}
					delete(old.Annotations, appsv1.DeprecatedRollbackTo)
				}
			}),
		extensions.String(): oldVersion(extensions,
			func(d *appsv1.Deployment, old *extensionsv1beta1.Deployment) {
				if to := old.Spec.RollbackTo; to != nil {
					setRollback(d, to.Revision)
				}
				defaultLabels(&d.ObjectMeta, &d.Spec.Selector, &d.Spec.Template)
				defaultOldStrategy(&d.Spec.Strategy)
				orElse(&d.Spec.RevisionHistoryLimit, math.MaxInt32)
				orElse(&d.Spec.ProgressDeadlineSeconds, math.MaxInt32)
			},
			func(old *extensionsv1beta1.Deployment, d *appsv1.Deployment) {
				if revision, ok := rollbackRevision(d); ok {
					old.Spec.RollbackTo = &extensionsv1beta1.RollbackConfig{Revision: revision}
					delete(old.Annotations, appsv1.DeprecatedRollbackTo)
				}
			}),
	}
}

func oldReplicaSets() map[string]kind.Version[*appsv1.ReplicaSet] {
	return map[string]kind.Version[*appsv1.ReplicaSet]{
		beta2.String(): oldVersion[appsv1.ReplicaSet, appsv1beta2.ReplicaSet](beta2, nil, nil),
		extensions.String(): oldVersion(extensions,
			func(r *appsv1.ReplicaSet, _ *extensionsv1beta1.ReplicaSet) {
				defaultLabels(&r.ObjectMeta, &r.Spec.Selector, &r.Spec.Template)
			}, nil),
	}
}

func oldStatefulSets() map[string]kind.Version[*appsv1.StatefulSet] {
	return map[string]kind.Version[*appsv1.StatefulSet]{
		beta2.String(): oldVersion[appsv1.StatefulSet, appsv1beta2.StatefulSet](beta2, nil, nil),
		beta1.String(): oldVersion(beta1,
			func(s *appsv1.StatefulSet, _ *appsv1beta1.StatefulSet) {
				defaultLabels(&s.ObjectMeta, &s.Spec.Selector, &s.Spec.Template)
				if s.Spec.UpdateStrategy.Type == "" {
					s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
				}
			}, nil),
	}
}

func oldDaemonSets() map[string]kind.Version[*appsv1.DaemonSet] {
	return map[string]kind.Version[*appsv1.DaemonSet]{
		beta2.String(): oldVersion[appsv1.DaemonSet, appsv1beta2.DaemonSet](beta2, nil, nil),
		extensions.String(): oldVersion(extensions,
			func(d *appsv1.DaemonSet, old *extensionsv1beta1.DaemonSet) {
				defaultLabels(&d.ObjectMeta, &d.Spec.Selector, &d.Spec.Template)
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

func oldControllerRevisions() map[string]kind.Version[*appsv1.ControllerRevision] {
	return map[string]kind.Version[*appsv1.ControllerRevision]{
		beta2.String(): oldVersion[appsv1.ControllerRevision, appsv1beta2.ControllerRevision](beta2, nil, nil),
		beta1.String(): oldVersion[appsv1.ControllerRevision, appsv1beta1.ControllerRevision](beta1, nil, nil),
	}
}

// defaultLabels copies the labels of a template to the workload's labels and selector, if they are not set.
func defaultLabels(meta *metav1.ObjectMeta, selector **metav1.LabelSelector, template *corev1.PodTemplateSpec) {
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

// defaultOldStrategy sets the defaults of the oldest versions, whose rolling updates replaced one pod at a time.
func defaultOldStrategy(s *appsv1.DeploymentStrategy) {
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

// setRollback records the revision to roll back to in the annotation that apps/v1 uses.
func setRollback(d *appsv1.Deployment, revision int64) {
	annotations := map[string]string{}
	maps.Copy(annotations, d.Annotations)
	annotations[appsv1.DeprecatedRollbackTo] = strconv.FormatInt(revision, 10)
	d.Annotations = annotations
}

func rollbackRevision(d *appsv1.Deployment) (revision int64, ok bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}
