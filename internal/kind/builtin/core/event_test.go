package core

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestEventRules checks the rules of ValidateEventCreate and ValidateEventUpdate
// (pkg/apis/core/validation/events.go).
func TestEventRules(t *testing.T) {
	t.Parallel()
	const mismatch = "does not match event.namespace"
	const fine = `"eventTime":"2026-01-01T00:00:00.000000Z","regarding":{"namespace":"default"},"reason":"Made","action":"Make","type":"Normal","reportingController":"x","reportingInstance":"y"`
	long := strings.Repeat("x", 129)
	edit := func(old, new string) string { return "{" + strings.Replace(fine, old, new, 1) + "}" }
	check(t, "events", []rule{
		{name: "core: about an object of its namespace", body: `{"involvedObject":{"namespace":"default"}}`},
		{name: "core: about a node, in default", body: `{"involvedObject":{"kind":"Node"}}`},
		{name: "core: about a node, elsewhere",
			body: `{"metadata":{"namespace":"team"},"involvedObject":{"kind":"Node"}}`,
			want: []string{`involvedObject.namespace: Invalid value: "": ` + mismatch}},
		{name: "core: about an object elsewhere", body: `{"involvedObject":{"namespace":"team"}}`,
			want: []string{`involvedObject.namespace: Invalid value: "team": ` + mismatch}},
		{name: "core: the server validates the metadata",
			body: `{"metadata":{"namespace":"A","labels":{"a b":""},"finalizers":["x"]},"involvedObject":{"namespace":"A"}}`},
		{name: "core, with eventTime: who and what", body: `{"eventTime":"2026-01-01T00:00:00.000000Z"}`,
			want: []string{
				"reportingComponent: Required value",
				`reportingComponent: Invalid value: "": name part must be non-empty`,
				`reportingComponent: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
				"reportingInstance: Required value", "action: Required value", "reason: Required value",
			}},
		{name: "core, with eventTime: too long",
			body: `{"eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"x","reportingInstance":"` + long +
				`","action":"` + long + `","reason":"` + long + `","message":"` + strings.Repeat("x", 1025) + `"}`,
			want: []string{
				`reportingInstance: Invalid value: "": can have at most 128 characters`,
				`action: Invalid value: "": can have at most 128 characters`,
				`reason: Invalid value: "": can have at most 128 characters`,
				`message: Invalid value: "": can have at most 1024 characters`,
			}},
		{name: "core: anything changes", old: `{"reason":"a"}`, body: `{"reason":"b"}`},

		{name: "events: fine", version: eventsAPIVersion, body: "{" + fine + "}"},
		{name: "events: no time", version: eventsAPIVersion,
			body: edit(`"eventTime":"2026-01-01T00:00:00.000000Z",`, ""), want: []string{"eventTime: Required value"}},
		{name: "events: a name that is no domain name", version: eventsAPIVersion,
			body: edit(`"reason"`, `"metadata":{"name":"A"},"reason"`), want: []string{
				`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{name: "events: metadata after the reporter, before the rest", version: eventsAPIVersion,
			body: `{"metadata":{"labels":{"a":"-"},"finalizers":["x"]},"eventTime":"2026-01-01T00:00:00.000000Z",` +
				`"regarding":{"namespace":"default"},"reportingController":"x","reportingInstance":"y","action":"a"}`,
			want: []string{"reason: Required value",
				`metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
				`metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified`,
				`type: Invalid value: "": has invalid value: `}},
		{name: "events: a type of one's own", version: eventsAPIVersion, body: edit(`"type":"Normal"`, `"type":"Odd"`),
			want: []string{`type: Invalid value: "": has invalid value: Odd`}},
		{name: "events: fields of the old version", version: eventsAPIVersion,
			body: edit(`"reason"`,
				`"deprecatedFirstTimestamp":"2026-01-01T00:00:00Z","deprecatedLastTimestamp":"2026-01-01T00:00:00Z","deprecatedCount":1,"deprecatedSource":{"component":"x"},"reason"`),
			want: []string{
				`firstTimestamp: Invalid value: "": needs to be unset`,
				`lastTimestamp: Invalid value: "": needs to be unset`,
				`count: Invalid value: "": needs to be unset`, `source: Invalid value: "": needs to be unset`,
			}},
		{name: "events: a series of one", version: eventsAPIVersion,
			body: edit(`"reason"`, `"series":{"count":1,"lastObservedTime":null},"reason"`),
			want: []string{`series.count: Invalid value: "": should be at least 2`,
				"series.lastObservedTime: Required value"}},
		{name: "events: a series grows", version: eventsAPIVersion, old: "{" + fine + "}",
			body: edit(`"reason"`, `"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"},"reason"`)},
		{name: "events: nothing else changes", version: eventsAPIVersion, old: "{" + fine + "}",
			body: edit(`"reason":"Made","action":"Make"`,
				`"metadata":{"finalizers":["x"]},"reason":"Taken","action":"Take","note":"n"`),
			want: []string{
				`metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified`,
				`reason: Invalid value: "Taken": field is immutable`, `message: Invalid value: "n": field is immutable`,
				`action: Invalid value: "Take": field is immutable`}},
	})
}

// TestEventFields checks that both endpoints select the same stored fields, each with its own names
// (pkg/apis/core/v1/conversion.go, pkg/apis/events/v1/conversion.go).
func TestEventFields(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["events"]
	e := read(t, k, "",
		`{"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"Made","reportingComponent":"c"}`)
	want := map[string]string{
		"involvedObject.kind": "Pod", "involvedObject.name": "p", "involvedObject.namespace": "default",
		"reason": "Made", "reportingComponent": "c", "source": "c",
	}
	if diff := cmp.Diff(want, k.Fields(e)); diff != "" {
		t.Errorf("selectable fields (-want +got):\n%s", diff)
	}
	if got := k.Info().Endpoints[1].Selectable["regarding.name"]; got != "involvedObject.name" {
		t.Errorf("regarding.name selects by %q, want involvedObject.name", got)
	}
}

// TestRequestVersionIsNotStored checks that the version of a write determines its validation rules and
// nothing else.
func TestRequestVersionIsNotStored(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["events"]
	e := read(t, k, eventsAPIVersion, `{"note":"n"}`)
	for _, format := range []object.Format{object.JSON, object.Protobuf} {
		data, err := k.Encode(object.Form{APIVersion: "v1", Format: format}, e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := k.Decode(object.Form{APIVersion: "v1", Format: format}, data)
		if err != nil {
			t.Fatal(err)
		}
		if got := back.(*corev1.Event); got.APIVersion != "v1" || got.Message != "n" ||
			strings.Contains(string(data), "events.k8s.io") {
			t.Errorf("the stored event, in %s, has the version of the request: %s", format, data)
		}
	}
}

// TestEventRows follows printEvent (pkg/printers/internalversion).
func TestEventRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	k := kindsByResource()["events"]
	for _, c := range []struct {
		event corev1.Event
		want  []any
	}{
		{corev1.Event{Source: corev1.EventSource{Component: "kubelet", Host: "n1"},
			FirstTimestamp: ago(10 * time.Minute), LastTimestamp: ago(5 * time.Second), Count: 3, Message: " hi \n"},
			[]any{"5s", "", "", "", "", "kubelet, n1", "hi", "10m", int64(3), ""}},
		{corev1.Event{EventTime: metav1.MicroTime(ago(time.Minute)),
			Series:         &corev1.EventSeries{Count: 4, LastObservedTime: metav1.MicroTime(ago(2 * time.Second))},
			InvolvedObject: corev1.ObjectReference{Kind: "Node"}},
			[]any{"2s", "", "", "node", "", "", "", "60s", int64(4), ""}},
	} {
		row, err := k.Row(&c.event, "v1", now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, row); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
	}
}
