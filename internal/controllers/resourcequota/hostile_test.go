package resourcequota

import (
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/quota"
)

// The largest quantities that the server accepts add up to a larger one, and the longest grace period has not passed.
func TestUsageOfHugeNumbers(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "default"}}
	q.Spec.Hard = corev1.ResourceList{"requests.memory": resource.MustParse("1"), "pods": resource.MustParse("1")}
	var objects []client.Object
	for range 100 {
		pod := &corev1.Pod{}
		deleted, grace := metav1.NewTime(now.Add(-time.Minute)), int64(math.MaxInt64)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &deleted, &grace
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"memory": resource.MustParse("1e999")},
		}}}
		objects = append(objects, pod)
	}
	d := decide(input{quota: q, now: now, objects: map[schema.GroupResource]iter.Seq[client.Object]{
		quota.Pods: slices.Values(objects),
	}})
	used := d.status.Used
	memory, count := used["requests.memory"], used["pods"]
	if want := resource.MustParse("1e1001"); memory.Cmp(want) != 0 || count.Value() != 100 {
		t.Errorf("got %s of memory and %s pods, want %s and 100", &memory, &count, &want)
	}
}
