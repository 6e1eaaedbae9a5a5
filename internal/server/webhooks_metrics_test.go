package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	admissionv1 "k8s.io/api/admission/v1"
)

// metrics is the prefix of the metrics of webhooks.
const metrics = "apiserver_admission_webhook_"

// The metrics of webhooks have Kubernetes' names (k8s.io/apiserver/pkg/admission/metrics): durations,
// rejections, and failures that were ignored. Series of removed configurations are removed.
func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	w := start(t)
	odd := startWebhook(t, func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: 12345}}
	})
	for _, c := range []struct {
		path, name, more string
		hook             *webhook
	}{
		{mutatingPath, "good", "", startWebhook(t, nil)},
		{validatingPath, "no", "", startWebhook(t, deny("no"))},
		{mutatingPath, "odd", "", odd},
		{validatingPath, "down", "", startRawWebhook(t, respondError(http.StatusNotFound))},
		{mutatingPath, "open", `"failurePolicy":"Ignore"`, startRawWebhook(t, respond("garbage"))},
		{mutatingPath, "breaks", "", startWebhook(t, patched(`[{"op":"remove","path":"/none"}]`))},
	} {
		registerWebhook(t, w, c.path, c.name, c.hook, c.more)
		w.send(t, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, c.name))
		if c.name != "good" {
			w.send(t, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":"%s-2"}}`, c.name))
			before := w.scrape(t)
			w.send(t, http.MethodDelete, c.path+"/"+c.name, "").want(t, http.StatusOK)
			w.send(t, http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"x"}}`).want(t,
				http.StatusCreated)
			after, its := w.scrape(t), `{name="`+c.name+`.example.com`
			if !strings.Contains(before, its) || strings.Contains(after, its) {
				const requestTotal = metrics + "request_total"
				t.Errorf("%s: the series are %v before the delete and %v after it", c.name,
					series(before, requestTotal),
					series(after, requestTotal))
			}
			counted(t, c.name, before)
		}
	}
	const took = metrics + "admission_duration_seconds_bucket"
	good := took + `{name="good.example.com",operation="CREATE",rejected="false",type="admit",le="25"} `
	if got := w.scrape(t); !strings.Contains(got, good) {
		t.Errorf("the series are %v", series(got, took))
	}
}

// counted compares the metrics of a webhook after two writes: it rejected both, or it failed and the failures were
// ignored.
func counted(t *testing.T, name, scraped string) {
	t.Helper()
	var got []string
	for _, metric := range []string{"rejection_count", "fail_open_count", "request_total"} {
		for _, line := range series(scraped, metrics+metric) {
			if rest, ok := strings.CutPrefix(line, metrics); ok && strings.Contains(rest, `name="`+name+`.`) {
				got = append(got, strings.ReplaceAll(rest, `name="`+name+`.example.com"`, ""))
			}
		}
	}
	want := map[string][]string{
		"no": {`rejection_count{error_type="no_error",,operation="CREATE",rejection_code="403",type="validating"} 2`,
			`request_total{code="403",,operation="CREATE",rejected="true",type="validating"} 2`},
		"odd": {`rejection_count{error_type="no_error",,operation="CREATE",rejection_code="600",type="admit"} 2`,
			`request_total{code="600",,operation="CREATE",rejected="true",type="admit"} 2`},
		"down": {`rejection_count{error_type="calling_webhook_error",,operation="CREATE",rejection_code="404",type="validating"} 2`,
			`request_total{code="404",,operation="CREATE",rejected="true",type="validating"} 2`},
		"open": {`fail_open_count{,type="admit"} 2`,
			`request_total{code="503",,operation="CREATE",rejected="false",type="admit"} 2`},
		"breaks": {`rejection_count{error_type="apiserver_internal_error",,operation="CREATE",rejection_code="0",type="admit"} 2`,
			`request_total{code="0",,operation="CREATE",rejected="true",type="admit"} 2`},
	}[name]
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
