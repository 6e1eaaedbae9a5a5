package plugins_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// limitedQuotas is a configuration of ResourceQuota.
const limitedQuotas = `
      apiVersion: apiserver.config.k8s.io/v1
      kind: ResourceQuotaConfiguration
      limitedResources:
      - resource: persistentvolumeclaims
        matchContains: [gold.storageclass.storage.k8s.io/requests.storage]
      - resource: pods
        matchContains: [requests.example.com/, limits.memory]
        matchScopes:
        - {scopeName: PriorityClass, operator: In, values: [critical]}
      - resource: configmaps
        matchContains: [configmaps]
      - apiGroup: example.com
        resource: widgets
        matchContains: [count/widgets.example.com]`

// TestLimitedResources checks that what a configuration limits needs a quota, as in
// apiserver/pkg/admission/plugin/resourcequota.
func TestLimitedResources(t *testing.T) {
	t.Parallel()
	claim := func(class string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}}
	}
	pod := func(priority string, limits corev1.ResourceList) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: priority, Containers: []corev1.Container{{Name: "c",
			Resources: corev1.ResourceRequirements{Limits: limits, Requests: limits}}}}}
	}
	memory := corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	quota := func(scope string, hard ...corev1.ResourceName) kind.Object {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "default"},
			Status: corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{}, Used: corev1.ResourceList{}}}
		for _, name := range hard {
			q.Status.Hard[name], q.Status.Used[name] = resource.MustParse("10Gi"), resource.MustParse("0")
		}
		if scope != "" {
			q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
				ScopeName: corev1.ResourceQuotaScopePriorityClass,
				Operator:  corev1.ScopeSelectorOpIn, Values: []string{scope},
			}}}
		}
		return q
	}
	widget := create("widgets", "default", "w", &metav1.PartialObjectMetadata{})
	widget.Resource.Group = "example.com"
	const goldStorage = "gold.storageclass.storage.k8s.io/requests.storage"
	quotas := schema.GroupResource{Resource: "resourcequotas"}
	for name, c := range map[string]struct {
		write  *admission.Attributes
		quotas []kind.Object
		want   string
	}{
		"a limited class":         {create("persistentvolumeclaims", "default", "c", claim("gold")), nil, "insufficient quota to consume: " + goldStorage},
		"another class":           {create("persistentvolumeclaims", "default", "c", claim("tin")), nil, ""},
		"with a quota":            {create("persistentvolumeclaims", "default", "c", claim("gold")), []kind.Object{quota("", goldStorage)}, ""},
		"with a quota of another": {create("persistentvolumeclaims", "default", "c", claim("gold")), []kind.Object{quota("", "requests.storage")}, "insufficient quota to consume: " + goldStorage},
		"an update that uses no more": {update("persistentvolumeclaims", "", "default", "c", claim("gold"), claim("gold")),
			nil, ""},
		"an update that uses more": {update("persistentvolumeclaims", "", "default", "c", claim("gold"), claim("tin")),
			nil, "insufficient quota to consume: " + goldStorage},
		"a pod":                     {create("pods", "default", "p", pod("", nil)), nil, ""},
		"memory of a pod":           {create("pods", "default", "p", pod("", memory)), nil, "insufficient quota to consume: limits.memory"},
		"memory with a quota":       {create("pods", "default", "p", pod("", memory)), []kind.Object{quota("", "limits.memory")}, ""},
		"devices of a pod":          {create("pods", "default", "p", pod("", corev1.ResourceList{"example.com/gpu": resource.MustParse("1")})), nil, "insufficient quota to consume: requests.example.com/gpu"},
		"a quota that must be met":  {create("pods", "default", "p", pod("", nil)), []kind.Object{quota("", "limits.memory")}, "failed quota: q: must specify limits.memory for: c"},
		"a priority":                {create("pods", "default", "p", pod("critical", nil)), nil, "insufficient quota to match these scopes: [{PriorityClass In [critical]}]"},
		"a priority with a quota":   {create("pods", "default", "p", pod("critical", nil)), []kind.Object{quota("critical", "pods")}, ""},
		"a priority with another":   {create("pods", "default", "p", pod("critical", nil)), []kind.Object{quota("low", "pods")}, "insufficient quota to match these scopes: [{PriorityClass In [critical]}]"},
		"a config map":              {create("configmaps", "default", "m", &corev1.ConfigMap{}), nil, "insufficient quota to consume: configmaps,count/configmaps"},
		"a config map with a quota": {create("configmaps", "default", "m", &corev1.ConfigMap{}), []kind.Object{quota("", "configmaps", "count/configmaps")}, ""},
		"a secret":                  {create("secrets", "default", "s", &corev1.Secret{}), nil, ""},
		"a custom resource":         {widget, nil, "insufficient quota to consume: count/widgets.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := configured(t, "ResourceQuota", limitedQuotas)
			err := p.Validate(t.Context(), c.write, state{quotas: c.quotas})
			prefix := c.write.Resource.GroupResource().String() + ` "` + c.write.Name + `" is forbidden: `
			if apierrors.IsInternalError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
				prefix = ""
			}
			wantForbidden(t, err, prefix, c.want)
		})
	}
}
