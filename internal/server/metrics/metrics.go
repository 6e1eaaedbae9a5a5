// Package metrics counts and times requests under the names, labels and buckets of kube-apiserver 1.37, which
// dashboards and alerts expect. Metrics that do not apply to this server are left out.
package metrics

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// Metrics are the metrics of one server. They may be used concurrently.
type Metrics struct {
	kinds       *kind.Registry
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	sli         *prometheus.HistogramVec
	sizes       *prometheus.HistogramVec
	longRunning *prometheus.GaugeVec
	inflight    *prometheus.GaugeVec
	deprecated  *prometheus.GaugeVec
	watchEvents *prometheus.CounterVec
	admission   *prometheus.HistogramVec
	waited      prometheus.Observer
	handler     http.Handler

	reading, writing prometheus.Gauge
	// mu guards series, which spares each request the lookup of its labels in every vector.
	mu     sync.RWMutex
	series map[requestLabels]*series
}

// component is the label of that name of every series.
const component = "apiserver"

var (
	requestLabelNames  = []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	resourceLabelNames = []string{"group", "version", "resource"}
	// slowBuckets are in seconds, and fine around the latencies that Kubernetes promises.
	slowBuckets = []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
)

// New registers the metrics of a server and those of other collectors. Only requests for resources in kinds have labels
// of their own: clients cannot create labels.
func New(kinds *kind.Registry, v version.Info, more ...prometheus.Collector) *Metrics {
	m := &Metrics{
		kinds: kinds, series: map[requestLabels]*series{},
		requests: counters("apiserver_request_total", "Requests that were answered.",
			append(requestLabelNames, "dry_run", "code")...),
		duration: histograms("apiserver_request_duration_seconds",
			"Duration of requests; of a watch, until it ended.", append([]float64{0.005, 0.025}, slowBuckets...),
			append(requestLabelNames, "dry_run")...),
		sli: histograms("apiserver_request_sli_duration_seconds",
			"Duration of requests that are not dry runs.", slowBuckets, requestLabelNames...),
		sizes: histograms("apiserver_response_sizes", "Length of the answers to reads, in bytes.",
			prometheus.ExponentialBuckets(1000, 10, 7), requestLabelNames...),
		longRunning: gauges("apiserver_longrunning_requests", "Watches that are open.", requestLabelNames...),
		inflight: gauges("apiserver_current_inflight_requests",
			"Requests being served, without watches and requests that wait for seats.", "request_kind"),
		deprecated: gauges("apiserver_requested_deprecated_apis", "Deprecated versions that were asked for.",
			append(resourceLabelNames, "subresource", "removed_release")...),
		watchEvents: counters("apiserver_watch_events_total", "Events sent to watches.", resourceLabelNames...),
		admission: histograms("apiserver_admission_step_admission_duration_seconds",
			"How long all admission plugins together took.",
			[]float64{0.005, 0.025, 0.1, 0.5, 1, 2.5}, "type", "operation", "rejected"),
	}
	waits := histograms("apiserver_flowcontrol_request_wait_duration_seconds",
		"How long requests of all levels waited for their seats.",
		[]float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}, "execute")
	m.waited = waits.WithLabelValues("true")
	m.reading, m.writing = m.inflight.WithLabelValues("readOnly"), m.inflight.WithLabelValues("mutating")
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.duration, m.sli, m.sizes, m.longRunning, m.inflight, m.deprecated,
		m.watchEvents, m.admission, waits,
		buildInfo(v), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(more...)
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// buildInfo returns the metric with the version of Kubernetes whose API is served.
func buildInfo(v version.Info) prometheus.Collector {
	info := gauges("kubernetes_build_info", "The version of Kubernetes whose API is served.",
		"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler",
		"platform")
	info.WithLabelValues(v.Major, v.Minor, v.GitVersion, v.GitCommit, v.GitTreeState, v.BuildDate, v.GoVersion,
		v.Compiler, v.Platform).Set(1)
	return info
}

// series are the metrics of the requests with equal labels.
type series struct {
	duration, sli, sizes prometheus.Observer
	mu                   sync.Mutex
	codes                map[int]prometheus.Counter
}

// of returns the series of some labels. It creates it on first use.
func (m *Metrics) of(l requestLabels) *series {
	m.mu.RLock()
	found := m.series[l]
	m.mu.RUnlock()
	if found != nil {
		return found
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.series[l]; found != nil {
		return found
	}
	made := &series{duration: m.duration.WithLabelValues(append(l.values(), l.dryRun)...),
		codes: map[int]prometheus.Counter{}}
	if l.dryRun == "" {
		made.sli = m.sli.WithLabelValues(l.values()...)
	}
	if l.verb == "GET" || l.verb == "LIST" {
		made.sizes = m.sizes.WithLabelValues(l.values()...)
	}
	m.series[l] = made
	return made
}

// Forget removes the series of a resource that is no longer served, so that their number stays bounded as
// definitions come and go. Requests in flight are recorded in the removed series.
func (m *Metrics) Forget(gr schema.GroupResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.series, func(l requestLabels, _ *series) bool {
		return l.group == gr.Group && l.resource == gr.Resource
	})
	labels := prometheus.Labels{"group": gr.Group, "resource": gr.Resource}
	for _, vector := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{m.requests, m.duration, m.sli, m.sizes, m.longRunning, m.deprecated, m.watchEvents} {
		vector.DeletePartialMatch(labels)
	}
}

// Request records an answered request: the status code of the answer, the bytes of its body, and how long it took.
func (m *Metrics) Request(route *request.Route, r *http.Request, code int, written int64, took time.Duration) {
	l := m.labels(route, r)
	s := m.of(l)
	s.duration.Observe(took.Seconds())
	if s.sli != nil {
		s.sli.Observe(took.Seconds())
	}
	if s.sizes != nil {
		s.sizes.Observe(float64(written))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	count := s.codes[code]
	if count == nil {
		count = m.requests.WithLabelValues(append(l.values(), l.dryRun, strconv.Itoa(code))...)
		s.codes[code] = count
	}
	count.Inc()
}

// Begin increments the number of requests in flight until end is called. Watches are counted when they start
// to stream.
func (m *Metrics) Begin(route *request.Route) (end func()) {
	switch route.Verb {
	case "watch":
		return func() {}
	case "get", "list", "head", "options":
		m.reading.Inc()
		return m.reading.Dec
	}
	m.writing.Inc()
	return m.writing.Dec
}

// Waited records how long a request waited for its seats.
func (m *Metrics) Waited(took time.Duration) { m.waited.Observe(took.Seconds()) }

// CountWatch increments the number of open watches until end is called.
func (m *Metrics) CountWatch(r *request.Route) (end func()) {
	_, end = m.Watching(r)
	return end
}

// Watching increments the number of open watches until end is called, and returns the counter of the watch's
// events.
func (m *Metrics) Watching(r *request.Route) (events prometheus.Counter, end func()) {
	l := requestLabels{verb: "WATCH", group: r.GVR.Group, version: r.GVR.Version, resource: r.GVR.Resource,
		subresource: r.Subresource, scope: scope(r)}
	open := m.longRunning.WithLabelValues(l.values()...)
	open.Inc()
	return m.watchEvents.WithLabelValues(l.group, l.version, l.resource), open.Dec
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler { return m.handler }

// Admitted records the duration of a step of admission, which is "admit" or "validate".
func (m *Metrics) Admitted(step, operation string, start time.Time, err error) {
	m.admission.WithLabelValues(step, operation, strconv.FormatBool(err != nil)).Observe(time.Since(start).Seconds())
}

// requestLabels identify a series of requests. Clients cannot create labels: a request for an unknown
// resource has no resource labels, and an unknown method is "other".
type requestLabels struct {
	verb, group, version, resource, subresource, scope, dryRun string
}

// values returns the labels in the order of requestLabelNames.
func (l *requestLabels) values() []string {
	return []string{l.verb, l.group, l.version, l.resource, l.subresource, l.scope, component}
}

// labels returns the labels of a request, named as in kube-apiserver: the verb is the method, or LIST, WATCH
// or APPLY.
func (m *Metrics) labels(route *request.Route, r *http.Request) requestLabels {
	l := requestLabels{verb: "other"}
	switch route.Verb {
	case "get", "head":
		l.verb = "GET"
	case "list":
		l.verb = "LIST"
	case "watch":
		l.verb = "WATCH"
	case "create", "post":
		l.verb = "POST"
	case "update", "put":
		l.verb = "PUT"
	case "delete", "deletecollection":
		l.verb = "DELETE"
	case "patch":
		l.verb = "PATCH"
		if request.BodyMedia(r.Header.Get("Content-Type")) == string(types.ApplyYAMLPatchType) {
			l.verb = "APPLY"
		}
	}
	if strings.Contains(r.URL.RawQuery, "dryRun") {
		if values := slices.Compact(r.URL.Query()["dryRun"]); len(values) == 1 && values[0] == "All" {
			l.dryRun = "All"
		} else if len(values) > 0 {
			l.dryRun = "invalid"
		}
	}
	if !route.IsResource {
		l.subresource = knownPath(route.Path)
		return l
	}
	entry, served := m.kinds.Find(route.GVR)
	if !served {
		return l
	}
	if route.Subresource != "" {
		sub := entry.Kind.Info().Subresource(route.Subresource)
		if sub == nil || route.HasBelow() && (sub.Connect == nil || !sub.Connect.Proxy) {
			return l
		}
		if sub.Connect != nil {
			l.verb = "CONNECT" // as Kubernetes counts requests that it forwards
		}
	}
	l.group, l.version, l.resource, l.subresource = route.GVR.Group, route.GVR.Version, route.GVR.Resource,
		route.Subresource
	l.scope = scope(route)
	if warning := entry.Endpoint.Deprecated; warning != "" {
		m.deprecated.WithLabelValues(l.group, l.version, l.resource, l.subresource, removedIn(warning)).Set(1)
	}
	return l
}

// scope returns the label for how much of a resource a request addresses.
func scope(r *request.Route) string {
	switch {
	case !r.IsResource:
		return ""
	case r.Name != "" || r.Verb == "create":
		return "resource"
	case r.Namespace != "":
		return "namespace"
	}
	return "cluster"
}

// knownPath returns one of a few labels for a path that is not that of a resource.
func knownPath(path string) string {
	for _, known := range []string{"/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi/v2",
		"/openapi/v3", "/debug/pprof"} {
		if path == known || strings.HasPrefix(path, known+"/") {
			return known
		}
	}
	return ""
}

// removedIn parses the release in which Kubernetes removes a deprecated version from the deprecation warning.
func removedIn(warning string) string {
	_, release, _ := strings.Cut(warning, "unavailable in v")
	release, _, _ = strings.Cut(release, "+")
	return release
}
