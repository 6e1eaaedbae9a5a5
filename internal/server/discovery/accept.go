package discovery

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	aggregatedGroup = "apidiscovery.k8s.io"
	aggregatedKind  = "APIGroupDiscoveryList"
)

// format is a media type of documents.
type format string

const (
	jsonFormat     format = "application/json"
	yamlFormat     format = "application/yaml"
	protobufFormat format = "application/vnd.kubernetes.protobuf"
)

// media is the negotiated form of an answer. A version asks for the aggregated form.
type media struct {
	format  format
	version string
}

func (m media) aggregated() bool { return m.version != "" }

// String returns the Content-Type.
func (m media) String() string {
	if !m.aggregated() {
		return string(m.format)
	}
	return string(m.format) + ";g=" + aggregatedGroup + ";v=" + m.version + ";as=" + aggregatedKind
}

// negotiate chooses the form of the answer from an Accept header, by quality and then by order. For documents
// with an aggregated form, as in Kubernetes, a client that accepts that form at all receives it. An empty
// header accepts everything.
func negotiate(accept string, aggregates bool) (media, bool) {
	if strings.TrimSpace(accept) == "" {
		return media{format: jsonFormat}, true
	}
	type choice struct {
		media
		quality float64
	}
	var choices []choice
	for clause := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(clause)
		if err != nil {
			continue
		}
		if m, ok := parseMedia(name, params, aggregates); ok {
			choices = append(choices, choice{m, quality(params)})
		}
	}
	choices = slices.DeleteFunc(choices, func(c choice) bool { return c.quality <= 0 })
	if len(choices) == 0 {
		return media{}, false
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(b.quality, a.quality) })
	if at := slices.IndexFunc(choices, func(c choice) bool { return c.aggregated() }); at >= 0 {
		return choices[at].media, true
	}
	return choices[0].media, true
}

// parseMedia parses one clause of an Accept header. ok is false if the form is not served. The profile, which
// asks whether to include the other servers of a cluster, is ignored: there are none.
func parseMedia(name string, params map[string]string, aggregates bool) (media, bool) {
	m := media{}
	switch name {
	case "*/*", "application/*", string(jsonFormat):
		m.format = jsonFormat
	case string(yamlFormat):
		m.format = yamlFormat
	case string(protobufFormat):
		m.format = protobufFormat
	default:
		return m, false
	}
	if params["as"] == "" {
		return m, true
	}
	known := params["as"] == aggregatedKind && params["g"] == aggregatedGroup &&
		(params["v"] == "v2" || params["v"] == "v2beta1")
	m.version = params["v"]
	return m, known && aggregates
}

func quality(params map[string]string) float64 {
	if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
		return q
	}
	return 1
}

// notAcceptable answers a request for unsupported forms. As in Kubernetes, it names the plain ones.
func notAcceptable(w http.ResponseWriter) {
	accepted := []string{string(jsonFormat), string(yamlFormat), string(protobufFormat)}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  "only the following media types are accepted: " + strings.Join(accepted, ", "),
		Reason:   metav1.StatusReasonNotAcceptable,
		Code:     http.StatusNotAcceptable,
	}
	w.Header().Set("Content-Type", string(jsonFormat))
	w.WriteHeader(http.StatusNotAcceptable)
	json.NewEncoder(w).Encode(&status)
}
