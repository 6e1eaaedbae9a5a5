package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline"
)

// scrape returns the body of /metrics.
func (w *testPlane) scrape(t *testing.T) string {
	t.Helper()
	return string(w.get(t, "/metrics").want(t, http.StatusOK).body)
}

// series returns the lines of a metric.
func series(scraped, name string) []string {
	return regexp.MustCompile(`(?m)^`+name+`(\{.*| .*)$`).FindAllString(scraped, -1)
}

// Requests have the labels of Kubernetes: the verb is the method, or LIST, WATCH or APPLY, or CONNECT for
// requests that a kubelet would answer (k8s.io/apiserver/pkg/endpoints/metrics).
func TestRequestMetrics(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
	w.get(t, configMaps).want(t, http.StatusOK)
	w.get(t, "/api/v1/configmaps").want(t, http.StatusOK)
	w.send(t, http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"b"}}`).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, configMaps+"?dryRun=Some", `{"metadata":{"name":"b"}}`).want(t,
		http.StatusUnprocessableEntity)
	w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"k":"v"}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=test", `{"apiVersion":"v1","kind":"ConfigMap"}`,
		"Content-Type", applyType).want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps, "").want(t, http.StatusOK)
	w.get(t, "/apis/apps/v1/namespaces/default/deployments/none/scale").want(t, http.StatusNotFound)
	w.get(t, "/api/v1/namespaces/default/pods/none/log").want(t, http.StatusNotFound)
	w.get(t, "/livez/ping").want(t, http.StatusOK)
	got := w.scrape(t)
	total := func(code, dryRun, group, resource, scope, subresource, verb, version string) string {
		return fmt.Sprintf(`apiserver_request_total{code=%q,component="apiserver",dry_run=%q,group=%q,resource=%q,scope=%q,subresource=%q,verb=%q,version=%q} `,
			code, dryRun, group, resource, scope, subresource, verb, version)
	}
	maps := func(code, dryRun, scope, verb string) string {
		return total(code, dryRun, "", "configmaps", scope, "", verb, "v1")
	}
	for _, want := range []string{
		maps("201", "", "resource", "POST") + "1",
		maps("200", "", "resource", "GET") + "1",
		maps("200", "", "namespace", "LIST") + "1",
		maps("200", "", "cluster", "LIST") + "1",
		maps("201", "All", "resource", "POST") + "1",
		maps("422", "invalid", "resource", "POST") + "1",
		maps("200", "", "resource", "PATCH") + "1",
		maps("200", "", "resource", "APPLY") + "1",
		maps("200", "", "namespace", "DELETE") + "1",
		total("404", "", "apps", "deployments", "resource", "scale", "GET", "v1") + "1",
		total("404", "", "", "pods", "resource", "log", "CONNECT", "v1") + "1",
		total("200", "", "", "", "", "/livez", "GET", "") + "1",
		`apiserver_request_duration_seconds_count{component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_request_sli_duration_seconds_count{component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_response_sizes_count{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_resource_objects{group="",resource="configmaps"} 0`,
		`apiserver_resource_objects{group="",resource="namespaces"} 4`,
		`apiserver_storage_objects{resource="deployments.apps"} 0`,
		`apiserver_current_inflight_requests{request_kind="readOnly"} 1`,
		`apiserver_current_inflight_requests{request_kind="mutating"} 0`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="false",type="admit"} 2`,
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			name, _, _ := strings.Cut(want, "{")
			t.Errorf("no %s in\n%s", want, strings.Join(series(got, name), "\n"))
		}
	}
}

// The metrics have the names that the queries of kubernetes-mixin about API servers use.
func TestMetricNamesOfKubernetesMixin(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.Controllers = []string{"namespace"} })
	w.createConfigMaps(t, "default", "a")
	w.get(t, configMaps).want(t, http.StatusOK)
	w.open(t, configMaps+"?watch=1").next(t)
	got := w.scrape(t)
	for name, kind := range map[string]string{
		"apiserver_request_total": "counter", "apiserver_request_duration_seconds": "histogram",
		"apiserver_request_sli_duration_seconds": "histogram", "apiserver_response_sizes": "histogram",
		"apiserver_current_inflight_requests": "gauge", "apiserver_longrunning_requests": "gauge",
		"apiserver_watch_events_total": "counter", "apiserver_storage_objects": "gauge",
		"apiserver_resource_objects": "gauge",
		"workqueue_adds_total":       "counter", "workqueue_depth": "gauge",
		"workqueue_queue_duration_seconds": "histogram",
		"workqueue_work_duration_seconds":  "histogram", "workqueue_retries_total": "counter",
		"process_cpu_seconds_total": "counter", "process_resident_memory_bytes": "gauge", "go_goroutines": "gauge",
		"kubernetes_build_info": "gauge", "apiserver_admission_step_admission_duration_seconds": "histogram",
	} {
		if want := "# TYPE " + name + " " + kind + "\n"; !strings.Contains(got, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, want := range []string{
		`le="0.05"`, `le="1"`, `le="60"`, `workqueue_adds_total{controller="namespace",name="namespace"}`,
		`apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} 1`,
		`apiserver_watch_events_total{group="",resource="configmaps",version="v1"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(series(got, "apiserver_(longrunning|watch).*"), "\n"))
		}
	}
}

// Clients cannot create series: unknown paths, resources and methods share labels.
func TestClientsCannotCreateSeries(t *testing.T) {
	t.Parallel()
	w := start(t)
	invent := func(i int) {
		for _, path := range []string{
			"/api/v1/invented%d", "/apis/invented%d/v1/things", "/invented%d", "/livez/invented%d",
			"/apis/apps/invented%d/deployments",
			"/api/v1/namespaces/invented%d/configmaps/invented%[1]d", configMaps + "/a/invented%d",
			configMaps + "?dryRun=invented%d",
		} {
			w.get(t, fmt.Sprintf(path, i))
			w.send(t, fmt.Sprintf("INVENT%d", i), fmt.Sprintf(path, i), "")
		}
	}
	w.scrape(t) // is counted too
	invent(0)
	before := len(strings.Split(w.scrape(t), "\n"))
	for i := range 20 {
		invent(i + 1)
	}
	if after := len(strings.Split(w.scrape(t), "\n")); after != before {
		t.Errorf("/metrics had %d lines, and has %d", before, after)
	}
}

// The metric of requested deprecated versions names the release that removes them.
func TestMetricOfDeprecatedVersions(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.get(t, "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions").want(t, http.StatusOK)
	const want = `apiserver_requested_deprecated_apis{group="apiextensions.k8s.io",removed_release="1.22",resource="customresourcedefinitions",subresource="",version="v1beta1"} 1`
	if got := w.scrape(t); !strings.Contains(got, want) {
		t.Errorf("no %s in %q", want, series(got, "apiserver_requested_deprecated_apis"))
	}
}

// The series of a definition's resource are removed with the definition.
func TestDeletedDefinitionRemovesSeries(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.get(t, widgetsPath).want(t, http.StatusOK)
	if !strings.Contains(w.scrape(t), `resource="widgets"`) {
		t.Error("requests for widgets are not counted")
	}
	undefine(t, w, "widgets.example.com")
	w.get(t, widgetsPath).want(t, http.StatusNotFound)
	if left := regexp.MustCompile(`.*resource="widgets".*`).FindAllString(w.scrape(t), -1); left != nil {
		t.Errorf("still there:\n%s", strings.Join(left, "\n"))
	}
}
