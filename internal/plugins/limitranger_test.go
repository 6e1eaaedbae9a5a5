package plugins_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins"
)

var limitRanges = schema.GroupResource{Resource: "limitranges"}

// amounts parses a list such as "cpu=1 memory=1Gi".
func amounts(text string) corev1.ResourceList {
	if text == "" {
		return nil
	}
	list := corev1.ResourceList{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	return list
}

func limitRange(items ...corev1.LimitRangeItem) state {
	return state{limitRanges: {&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "default"},
		Spec: corev1.LimitRangeSpec{Limits: items}}}}
}

func requesting(requests, limits string) corev1.Container {
	return corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: amounts(requests),
		Limits: amounts(limits)}}
}

// TestLimitRangerSetsDefaults checks the values that a pod lacks, and the annotation that lists them.
func TestLimitRangerSetsDefaults(t *testing.T) {
	t.Parallel()
	s := limitRange(corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: amounts("cpu=2 memory=1Gi"),
		DefaultRequest: amounts("cpu=1")}, corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: amounts("cpu=100")})
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "i"}},
		Containers:     []corev1.Container{requesting("cpu=500m", "memory=2Gi")},
	}}
	a := create("pods", "default", "p", pod)
	if err := (plugins.LimitRanger{}).Admit(context.Background(), a, s); err != nil {
		t.Fatal(err)
	}
	c, i := pod.Spec.Containers[0].Resources, pod.Spec.InitContainers[0].Resources
	for what, pair := range map[string][2]resource.Quantity{
		"own request stays":        {c.Requests["cpu"], resource.MustParse("500m")},
		"own limit stays":          {c.Limits["memory"], resource.MustParse("2Gi")},
		"default limit":            {c.Limits["cpu"], resource.MustParse("2")},
		"init container's request": {i.Requests["cpu"], resource.MustParse("1")},
		"init container's limit":   {i.Limits["memory"], resource.MustParse("1Gi")},
	} {
		if pair[0].Cmp(pair[1]) != 0 {
			t.Errorf("%s: %s, want %s", what, pair[0].String(), pair[1].String())
		}
	}
	const want = "LimitRanger plugin set: cpu limit for container c; cpu request for init container i; " +
		"cpu, memory limit for init container i"
	if got := pod.Annotations["kubernetes.io/limit-ranger"]; got != want {
		t.Errorf("annotation %q, want %q", got, want)
	}
}

// TestLimitRangerRejects checks the messages of Kubernetes (plugin/pkg/admission/limitranger).
func TestLimitRangerRejects(t *testing.T) {
	t.Parallel()
	container, pod := corev1.LimitTypeContainer, corev1.LimitTypePod
	for _, c := range []struct {
		name       string
		limit      corev1.LimitRangeItem
		containers []corev1.Container
		want       string // "" if the pod is admitted
	}{
		{"within", corev1.LimitRangeItem{Type: container, Min: amounts("cpu=1"), Max: amounts("cpu=2")},
			[]corev1.Container{requesting("cpu=1", "cpu=2")}, ""},
		{"no request", corev1.LimitRangeItem{Type: container, Min: amounts("cpu=1")},
			[]corev1.Container{requesting("", "")},
			"minimum cpu usage per Container is 1.  No request is specified"},
		{"a small request", corev1.LimitRangeItem{Type: container, Min: amounts("cpu=1")},
			[]corev1.Container{requesting("cpu=999m", "")}, "minimum cpu usage per Container is 1, but request is 999m"},
		{"a small limit", corev1.LimitRangeItem{Type: container, Min: amounts("cpu=1")},
			[]corev1.Container{requesting("cpu=1", "cpu=900m")}, "minimum cpu usage per Container is 1, but limit is 900m"},
		{"no limit", corev1.LimitRangeItem{Type: container, Max: amounts("cpu=1")},
			[]corev1.Container{requesting("cpu=1", "")}, "maximum cpu usage per Container is 1.  No limit is specified"},
		{"a large limit", corev1.LimitRangeItem{Type: container, Max: amounts("memory=1Gi")},
			[]corev1.Container{requesting("", "memory=2Gi")},
			"maximum memory usage per Container is 1Gi, but limit is 2Gi"},
		{"a large request", corev1.LimitRangeItem{Type: container, Max: amounts("cpu=1")},
			[]corev1.Container{requesting("cpu=2", "cpu=1")}, "maximum cpu usage per Container is 1, but request is 2"},
		{"the sum of a pod", corev1.LimitRangeItem{Type: pod, Max: amounts("cpu=3")},
			[]corev1.Container{requesting("cpu=1", "cpu=2"), requesting("cpu=1", "cpu=2")},
			"maximum cpu usage per Pod is 3, but limit is 4"},
		{"a ratio", corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: amounts("cpu=2")},
			[]corev1.Container{requesting("cpu=1", "cpu=3")},
			"cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"},
		{"an exact ratio", corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: amounts("cpu=3")},
			[]corev1.Container{requesting("cpu=90m", "cpu=270m")}, ""},
		{"a ratio without a request", corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: amounts("cpu=2")},
			[]corev1.Container{requesting("", "cpu=3")},
			"cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"},
		{"a ratio without a limit", corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: amounts("cpu=2")},
			[]corev1.Container{requesting("cpu=1", "")},
			"cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"},
		{"several", corev1.LimitRangeItem{Type: container, Min: amounts("cpu=2 memory=1Gi")},
			[]corev1.Container{requesting("cpu=1", "")},
			"[minimum cpu usage per Container is 2, but request is 1, minimum memory usage per Container is 1Gi.  No request is specified]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := create("pods", "default", "p", &corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}})
			wantForbidden(t, (plugins.LimitRanger{}).Validate(context.Background(), a, limitRange(c.limit)),
				`pods "p" is forbidden: `, c.want)
		})
	}
}

// wantForbidden checks the message of a rejection; an empty reason means that the write is admitted.
func wantForbidden(t *testing.T, err error, prefix, reason string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	want := ""
	if reason != "" {
		want = prefix + reason
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLimitRangerChecksClaims(t *testing.T) {
	t.Parallel()
	s := limitRange(corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim,
		Min: amounts("storage=1Gi"), Max: amounts("storage=2Gi")})
	for size, want := range map[string]string{
		"1Gi":   "",
		"512Mi": "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi",
		"3Gi":   "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi",
	} {
		claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage=" + size)}}}
		a := create("persistentvolumeclaims", "default", "c", claim)
		wantForbidden(t, (plugins.LimitRanger{}).Validate(context.Background(), a, s),
			`persistentvolumeclaims "c" is forbidden: `, want)
		if want == "" {
			continue
		}
		deleted := claim.DeepCopy()
		deleted.DeletionTimestamp = new(metav1.Now())
		a.Operation, a.Old = admission.Update, deleted
		wantForbidden(t, (plugins.LimitRanger{}).Validate(context.Background(), a, s), "", "")
	}
}
