package deployment

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

// limits are the numbers of pods that a Deployment's spec asks for and allows.
type limits struct {
	size         int32 // the desired number
	max          int32 // the maximum: the desired number and the surge
	minAvailable int32 // the number that must stay available
}

func newLimits(spec *appsv1.DeploymentSpec) limits {
	size := int32(1)
	if spec.Replicas != nil {
		size = *spec.Replicas
	}
	surge, unavailable := bounds(spec, size)
	return limits{size: size, max: bounded.Count(int64(size) + int64(surge)), minAvailable: size - unavailable}
}

// bounds returns by how many pods a rollout may exceed the desired number, and by how many it may fall short
// of it.
func bounds(spec *appsv1.DeploymentSpec, size int32) (surge, unavailable int32) {
	update := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || update == nil {
		return 0, 0
	}
	surge, unavailable = scaledValue(update.MaxSurge, size, true), scaledValue(update.MaxUnavailable, size, false)
	if surge == 0 && unavailable == 0 { // both percentages round to 0, so the rollout could never progress
		unavailable = 1
	}
	return surge, min(unavailable, size)
}

// scaledValue returns a number or a percentage of whole; 0 if it cannot be parsed.
func scaledValue(value *intstr.IntOrString, whole int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(value, intstr.FromInt32(0)), int(whole), up)
	if err != nil {
		return 0
	}
	return bounded.Count(int64(n))
}

// setSize sets the size of a ReplicaSet, which the caller must have copied, and records the limits in its
// annotations.
func (l limits) setSize(set *appsv1.ReplicaSet, size int32) {
	set.Spec.Replicas = &size
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, DesiredAnnotation, strconv.Itoa(int(l.size)))
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, MaxAnnotation, strconv.Itoa(int(l.max)))
}

// recordedIn reports whether the annotations of a ReplicaSet have these limits.
func (l limits) recordedIn(set *appsv1.ReplicaSet) bool {
	return set.Annotations[DesiredAnnotation] == strconv.Itoa(int(l.size)) &&
		set.Annotations[MaxAnnotation] == strconv.Itoa(int(l.max))
}
