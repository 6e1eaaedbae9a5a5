package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func resourceQuotaKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ResourceQuota", Plural: "resourcequotas", Singular: "resourcequota", ShortNames: []string{"quota"},
		Namespaced:     true,
		ReturnsDeleted: true,
		Endpoints:      []kind.Endpoint{{Version: "v1"}},
		Subresources:   []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*corev1.ResourceQuota]{
		Default:  defaultResourceQuota,
		Restore:  formatResourceQuota,
		Validate: validateResourceQuota,
		Warnings: resourceQuotaWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			textColumn("Request", "Request represents a minimum amount of cpu/memory that a container may consume.", 0),
			textColumn("Limit",
				"Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.", 0),
			kind.AgeColumn,
		},
		Row: func(q *corev1.ResourceQuota, now time.Time) []any {
			request, limit := quotaCells(q.Status)
			return []any{q.Name, request, limit, kind.Age(q.CreationTimestamp.Time, now)}
		},
	})
}

// defaultResourceQuota rounds quantities up to thousandths, as for pods.
func defaultResourceQuota(q *corev1.ResourceQuota) {
	podspec.RoundUp(q.Spec.Hard)
	podspec.RoundUp(q.Status.Hard)
	podspec.RoundUp(q.Status.Used)
}

// formatResourceQuota lets all quantities keep their text. Each write that the quota counts encodes them again.
func formatResourceQuota(q *corev1.ResourceQuota) {
	for _, list := range []corev1.ResourceList{q.Spec.Hard, q.Status.Hard, q.Status.Used} {
		for name, quantity := range list {
			_ = quantity.String()
			list[name] = quantity
		}
	}
}

// quotaCells formats used and hard quantities by name: limits of containers, and all others.
func quotaCells(status corev1.ResourceQuotaStatus) (request, limit string) {
	var requests, limits []string
	for _, name := range fieldcheck.SortedKeys(status.Hard) {
		used, hard := status.Used[name], status.Hard[name]
		cell := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, cell)
		} else {
			requests = append(requests, cell)
		}
	}
	return strings.Join(requests, ", "), strings.Join(limits, ", ")
}

// resourceQuotaWarnings warns of a new quota whose requests exceed its limits.
func resourceQuotaWarnings(q, old *corev1.ResourceQuota) (warnings []string) {
	if old != nil {
		return nil
	}
	// quotas accept these without the prefix too
	bare := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	for _, name := range append(bare, corev1.ResourceStorage, corev1.ResourceEphemeralStorage) {
		requestsName := "requests." + name
		request, ok := q.Spec.Hard[requestsName]
		if !ok && slices.Contains(bare, name) {
			requestsName = name
			request, ok = q.Spec.Hard[requestsName]
		}
		limited := "limits." + name
		if limit, both := q.Spec.Hard[limited]; ok && both && request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)",
				requestsName, request.String(), limited, limit.String()))
		}
	}
	return warnings
}
