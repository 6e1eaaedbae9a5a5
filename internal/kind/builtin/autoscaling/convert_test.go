package autoscaling

import (
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

// allOfV2 has every field that autoscaling/v1 lacks.
const allOfV2 = `{"metadata":{"name":"h","annotations":{"a":"b"}},"spec":{
	"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"minReplicas":0,"maxReplicas":5,
	"metrics":[
		{"type":"Object","object":{"describedObject":{"apiVersion":"v1","kind":"Service","name":"s"},
			"metric":{"name":"m","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"Value","value":"10"}}},
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"m"},
			"target":{"type":"AverageValue","averageValue":"10"}}},
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"m"},
			"target":{"type":"AverageValue","value":"7","averageValue":"10"}}},
		{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"10"}}},
		{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":60}}},
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":"500m"}}},
		{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c",
			"target":{"type":"Utilization","averageUtilization":60}}},
		{"type":"ContainerResource","containerResource":{"name":"memory","container":"c",
			"target":{"type":"AverageValue","averageValue":"1Gi"}}},
		{"type":"External","external":{"metric":{"name":"q"},"target":{"type":"Value","value":"10"}}},
		{"type":"External","external":{"metric":{"name":"q"},"target":{"type":"AverageValue","averageValue":"10"}}},
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}
	],
	"behavior":{"scaleUp":{"stabilizationWindowSeconds":5,"selectPolicy":"Min","tolerance":"100m",
		"policies":[{"type":"Pods","value":2,"periodSeconds":30}]}}},
	"status":{"observedGeneration":2,"lastScaleTime":"2026-01-02T03:04:05Z","currentReplicas":3,"desiredReplicas":4,
	"currentMetrics":[
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"m"},
			"current":{"value":"3","averageValue":"1"}}},
		{"type":"Pods","pods":{"metric":{"name":"m"},"current":{"averageValue":"1"}}},
		{"type":"Resource","resource":{"name":"cpu","current":{"averageValue":"1","averageUtilization":33}}},
		{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c",
			"current":{"averageValue":"1","averageUtilization":33}}},
		{"type":"External","external":{"metric":{"name":"q"},"current":{"value":"3","averageValue":"1"}}}
	],
	"conditions":[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z",
		"reason":"R","message":"M","observedGeneration":2}]}}`

// encoded returns an object in a version, and its JSON.
func encoded[T any](t *testing.T, h *autoscalingv2.HorizontalPodAutoscaler, version string) (obj T, data string) {
	t.Helper()
	k := autoscalerKind(object.NewCache(1))
	body, err := k.Encode(object.Form{APIVersion: version, Format: object.JSON}, h)
	if err == nil {
		err = json.Unmarshal(body, &obj)
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj, string(body)
}

// TestV1LosesNothing checks that a conversion to autoscaling/v1 and back returns an equal object, and does not change
// the original.
func TestV1LosesNothing(t *testing.T) {
	t.Parallel()
	k := autoscalerKind(object.NewCache(1))
	h := decode(t, k, "", allOfV2)
	before := h.DeepCopy()
	_, v1 := encoded[autoscalingv1.HorizontalPodAutoscaler](t, h, "autoscaling/v1")
	back := decode(t, k, "autoscaling/v1", v1)
	back.APIVersion = h.APIVersion
	if diff := gocmp.Diff(h, back); diff != "" {
		t.Errorf("through autoscaling/v1 (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(before, h); diff != "" {
		t.Errorf("encoding changes the object (-before +after):\n%s", diff)
	}
	if errs := k.Validate(t.Context(), back, nil, ""); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// TestV1Annotations checks the form of the annotations (Convert_autoscaling_HorizontalPodAutoscaler_To_v1_...).
func TestV1Annotations(t *testing.T) {
	t.Parallel()
	k := autoscalerKind(object.NewCache(1))
	h := decode(t, k, "", `{"metadata":{"annotations":{"a":"b"}},"spec":{"maxReplicas":5,
		"metrics":[
			{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"10"}}},
			{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}],
		"behavior":{"scaleUp":{"tolerance":"100m"}}},
		"status":{"currentMetrics":[{"type":"Resource",
			"resource":{"name":"cpu","current":{"averageUtilization":33,"averageValue":"1"}}}],
		"conditions":[{"type":"AbleToScale","status":"True"}]}}`)
	v1, _ := encoded[autoscalingv1.HorizontalPodAutoscaler](t, h, "autoscaling/v1")
	want := map[string]string{
		"a": "b",
		"autoscaling.alpha.kubernetes.io/metrics": `[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10"}}]`,
		"autoscaling.alpha.kubernetes.io/behavior": `{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max",` +
			`"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":"100m"},` +
			`"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max",` +
			`"Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}`,
		"autoscaling.alpha.kubernetes.io/current-metrics": `[{"type":"Resource","resource":{"name":"cpu",` +
			`"currentAverageUtilization":33,"currentAverageValue":"1"}}]`,
		"autoscaling.alpha.kubernetes.io/conditions": `[{"type":"AbleToScale","status":"True","lastTransitionTime":null}]`,
	}
	if diff := gocmp.Diff(want, v1.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if v1.APIVersion != "autoscaling/v1" || v1.Kind != "HorizontalPodAutoscaler" ||
		*v1.Spec.TargetCPUUtilizationPercentage != 70 || *v1.Status.CurrentCPUUtilizationPercentage != 33 {
		t.Errorf("autoscaling/v1 shows %+v", v1)
	}
	h = decode(t, k, "autoscaling/v1", `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[]"}},
		"spec":{"targetCPUUtilizationPercentage":70},"status":{"currentCPUUtilizationPercentage":5}}`)
	_, v2 := encoded[autoscalingv2.HorizontalPodAutoscaler](t, h, "autoscaling/v2")
	if strings.Contains(v2, "alpha") || !strings.Contains(v2, `"averageUtilization":70`) ||
		!strings.Contains(v2, `"current":{"averageUtilization":5}`) {
		t.Errorf("autoscaling/v2 shows %s", v2)
	}
}

// TestV1AnnotationsOfClients checks how annotations in a request are converted.
func TestV1AnnotationsOfClients(t *testing.T) {
	t.Parallel()
	k := autoscalerKind(object.NewCache(1))
	with := func(key, value string) *autoscalingv2.HorizontalPodAutoscaler {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return decode(t, k, "autoscaling/v1", `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/`+key+`":`+
			string(text)+`}},"spec":{"maxReplicas":1,"targetCPUUtilizationPercentage":70}}`)
	}
	for name, h := range map[string]*autoscalingv2.HorizontalPodAutoscaler{
		"text that is not JSON":    with("metrics", `[`),
		"an object for a list":     with("metrics", `{}`),
		"null":                     with("metrics", `null`),
		"a quantity that is none":  with("metrics", `[{"type":"Pods","pods":{"targetAverageValue":"x"}}]`),
		"a quantity that is huge":  with("metrics", `[{"type":"Pods","pods":{"targetAverageValue":"1e999999999"}}]`),
		"no behavior":              with("behavior", `{}`),
		"a behavior of no object":  with("behavior", `[]`),
		"statuses that are none":   with("current-metrics", `7`),
		"conditions that are none": with("conditions", `"x"`),
	} {
		if len(h.Spec.Metrics) != 1 || !isCPUTarget(&h.Spec.Metrics[0]) || h.Spec.Behavior != nil ||
			len(h.Status.CurrentMetrics)+len(h.Status.Conditions)+len(h.Annotations) != 0 {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if h := with("metrics", `[{"type":"Pods","pods":{"metricName":"1e999999999"}},{}]`); len(h.Spec.Metrics) != 3 ||
		h.Spec.Metrics[0].Pods.Metric.Name != "1e999999999" || !isCPUTarget(&h.Spec.Metrics[2]) {
		t.Errorf("metrics of an annotation precede the field: %+v", h.Spec.Metrics)
	}
	// In autoscaling/v1, rules without policies have no defaults.
	errs := k.Validate(t.Context(), with("behavior", `{"scaleup":{}}`), nil, "")
	if len(errs) != 4 || errs[3].Error() !=
		"spec.behavior.scaleUp.policies: Required value: must specify at least one Policy" {
		t.Errorf("a behavior without policies: %v", errs)
	}
}

func TestV1HasTheDefaultMetric(t *testing.T) {
	t.Parallel()
	h := decode(t, autoscalerKind(object.NewCache(1)), "autoscaling/v1", `{}`)
	if *h.Spec.MinReplicas != 1 || len(h.Spec.Metrics) != 1 ||
		*h.Spec.Metrics[0].Resource.Target.AverageUtilization != 80 {
		t.Errorf("the defaults of autoscaling/v1: %+v", h.Spec)
	}
	if hub := toHub(&autoscalingv1.HorizontalPodAutoscaler{}); len(hub.Spec.Metrics) != 1 {
		t.Errorf("a conversion has no metric: %+v", hub.Spec)
	}
}
