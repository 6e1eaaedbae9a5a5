package autoscaling

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	sub             string
	version         string // autoscaling/v2 if it is empty
	want            []string
}

// check validates each object, a JSON body without kind and apiVersion, and compares the errors.
func check(t *testing.T, rules []rule) {
	t.Helper()
	k := autoscalerKind(object.NewCache(1))
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = decode(t, k, r.version, r.old)
			}
			var got []string
			for _, e := range k.Validate(t.Context(), decode(t, k, r.version, r.body), old, r.sub) {
				got = append(got, e.Error())
			}
			if diff := gocmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// decode converts an object to the hub version.
func decode(t *testing.T, k kind.Kind, version, body string) *autoscalingv2.HorizontalPodAutoscaler {
	t.Helper()
	if version == "" {
		version = "autoscaling/v2"
	}
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: version, Format: object.JSON}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(body, err, strict)
	}
	return obj.(*autoscalingv2.HorizontalPodAutoscaler)
}

func TestAutoscalerDefaults(t *testing.T) {
	t.Parallel()
	k := autoscalerKind(object.NewCache(1))
	const reserved = `"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[]","a":"b",
		"autoscaling.alpha.kubernetes.io/scale-up-tolerance":"1","autoscaling.alpha.kubernetes.io/conditions":"x"}},`
	h := decode(t, k, "", `{`+reserved+`"spec":{"behavior":{"scaleDown":{"selectPolicy":"Min","tolerance":"1"}}}}`)
	percent := autoscalingv2.HPAScalingPolicy{Type: "Percent", Value: 100, PeriodSeconds: 15}
	want := autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: new(int32(1)),
		Metrics: []autoscalingv2.MetricSpec{{
			Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(80))}},
		}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: new(int32(0)), SelectPolicy: new(autoscalingv2.MaxChangePolicySelect),
				Policies: []autoscalingv2.HPAScalingPolicy{{Type: "Pods", Value: 4, PeriodSeconds: 15}, percent},
			},
			ScaleDown: &autoscalingv2.HPAScalingRules{
				SelectPolicy: new(autoscalingv2.MinChangePolicySelect),
				Policies:     []autoscalingv2.HPAScalingPolicy{percent}, Tolerance: new(resource.MustParse("1")),
			},
		},
	}
	if diff := gocmp.Diff(want, h.Spec); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(map[string]string{"a": "b"}, h.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if other := decode(t, k, "", `{"spec":{"minReplicas":0,"metrics":[{}]}}`); *other.Spec.MinReplicas != 0 ||
		len(other.Spec.Metrics) != 1 || other.Spec.Metrics[0].Resource != nil || other.Spec.Behavior != nil {
		t.Errorf("a default replaces a value: %+v", other.Spec)
	}
}

// TestAutoscalerWrites checks what a write stores (PrepareForCreate and PrepareForUpdate of
// pkg/registry/autoscaling/horizontalpodautoscaler): the status and the generation.
func TestAutoscalerWrites(t *testing.T) {
	t.Parallel()
	k := autoscalerKind(object.NewCache(1))
	body := func(replicas, current string) string {
		return `{"spec":{"maxReplicas":` + replicas + `},"status":{"currentReplicas":` + current + `}}`
	}
	old := decode(t, k, "", body("1", "2"))
	k.Prepare(old, nil, "")
	if old.Generation != 1 || old.Status.CurrentReplicas != 0 {
		t.Errorf("a create stores generation %d and the status %+v", old.Generation, old.Status)
	}
	old.Status.CurrentReplicas = 3
	for _, c := range []struct {
		replicas, sub string
		maximum       int32
		current       int32
		generation    int64
	}{
		{"1", "", 1, 3, 1},
		{"2", "", 2, 3, 2},
		{"2", "status", 1, 5, 1},
	} {
		h := decode(t, k, "", body(c.replicas, "5"))
		k.Prepare(h, old, c.sub)
		if h.Spec.MaxReplicas != c.maximum || h.Status.CurrentReplicas != c.current || h.Generation != c.generation {
			t.Errorf("%+v stores %+v, %+v, generation %d", c, h.Spec, h.Status, h.Generation)
		}
	}
}

func TestAutoscalerRow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	k := autoscalerKind(object.NewCache(1))
	h := decode(t, k, "", `{"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},
		"minReplicas":2,"maxReplicas":5},"status":{"currentReplicas":3}}`)
	h.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
	for _, version := range []string{"autoscaling/v1", "autoscaling/v2"} {
		row, err := k.Row(h, version, now)
		if err != nil {
			t.Fatal(err)
		}
		want := []any{"h", "Deployment/d", "cpu: <unknown>/80%", "2", int64(5), int64(3), "60s"}
		if diff := gocmp.Diff(want, row); diff != "" {
			t.Errorf("%s: row (-want +got):\n%s", version, diff)
		}
		if columns := k.Columns(version); len(columns) != len(row) {
			t.Errorf("%s: %d columns, %d cells", version, len(columns), len(row))
		}
	}
	if row := autoscalerRow(&autoscalingv2.HorizontalPodAutoscaler{}, now); row[2] != "<none>" || row[3] != "<unset>" {
		t.Errorf("the row of an empty object: %v", row)
	}
}

func TestMetricCells(t *testing.T) {
	t.Parallel()
	k := autoscalerKind(object.NewCache(1))
	const cpu = `{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":50}}}`
	for _, c := range []struct{ metrics, status, want string }{
		{`{"type":"External","external":{"target":{"averageValue":"10"}}}`, ``, `<unknown>/10 (avg)`},
		{`{"type":"External","external":{"target":{"averageValue":"10"}}}`,
			`{"external":{"current":{"averageValue":"3"}}}`, `3/10 (avg)`},
		{`{"type":"External","external":{"target":{"value":"10"}}}`, ``, `<unknown>/10`},
		{`{"type":"External","external":{"target":{"value":"10"}}}`, `{"external":{"current":{"value":"4"}}}`, `4/10`},
		{`{"type":"Object","object":{"target":{"averageValue":"10"}}}`, `{"object":{"current":{}}}`,
			`<unknown>/10 (avg)`},
		{`{"type":"Object","object":{"target":{"value":"10"}}}`, `{"object":{"current":{"value":"1500m"}}}`,
			`1500m/10`},
		{`{"type":"Pods","pods":{"target":{"averageValue":"10"}}}`, ``, `<unknown>/10`},
		{`{"type":"Pods","pods":{"target":{"averageValue":"10"}}}`,
			`{"pods":{"current":{"averageValue":"2"}}}`, `2/10`},
		{cpu, ``, `cpu: <unknown>/50%`},
		{cpu, `{"resource":{"current":{"averageUtilization":7}}}`, `cpu: 7%/50%`},
		{`{"type":"Resource","resource":{"name":"memory","target":{}}}`, ``, `memory: <unknown>/<auto>`},
		{`{"type":"Resource","resource":{"name":"memory","target":{"averageValue":"1Gi"}}}`,
			`{"resource":{"current":{"averageUtilization":7}}}`, `memory: <nil>/1Gi`},
		{`{"type":"ContainerResource","containerResource":{"name":"cpu","target":{"averageUtilization":50}}}`,
			`{"containerResource":{"current":{"averageUtilization":8}}}`, `cpu: 8%/50%`},
		{`{"type":"ContainerResource","containerResource":{"name":"cpu","target":{"averageValue":"1"}}}`, ``,
			`cpu: <unknown>/1`},
		{`{"type":"Pods"}`, ``, `<unknown type>`},
		{`{"type":"Lunar","pods":{}}`, ``, `<unknown type>`},
		{cpu + `,` + cpu, ``, `cpu: <unknown>/50%, cpu: <unknown>/50%`},
		{cpu + `,` + cpu + `,` + cpu + `,` + cpu, ``, `cpu: <unknown>/50%, cpu: <unknown>/50% + 2 more...`},
	} {
		h := decode(t, k, "", `{"spec":{"metrics":[`+c.metrics+`]},"status":{"currentMetrics":[`+c.status+`]}}`)
		if got := formatMetrics(h.Spec.Metrics, h.Status.CurrentMetrics); got != c.want {
			t.Errorf("%s with %s: %q, want %q", c.metrics, c.status, got, c.want)
		}
	}
}
