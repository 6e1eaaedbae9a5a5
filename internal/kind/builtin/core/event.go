package core

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

const eventsAPIVersion = "events.k8s.io/v1"

func eventKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Event", Plural: "events", Singular: "event", ShortNames: []string{"ev"},
		Namespaced:     true,
		CreateOnUpdate: true,
		Lifetime:       time.Hour, // the default of kube-apiserver's --event-ttl
		Endpoints: []kind.Endpoint{
			{Version: "v1", Selectable: coreEventFields},
			{Group: "events.k8s.io", Version: "v1", Selectable: newEventFields},
		},
		OwnMetadata: true,
		// The core version accepts any name that is valid in a URL; validateNewEvent has stricter rules.
		ValidName: func(name string, prefix bool) []string {
			if prefix {
				return content.IsPathSegmentPrefix(name)
			}
			return content.IsPathSegmentName(name)
		},
	}, kind.Rules[*corev1.Event]{
		Validate: validateEvent,
		Fields:   eventFields,
		Columns:  eventColumns,
		Row:      eventRow,
		Versions: map[string]kind.Version[*corev1.Event]{
			eventsAPIVersion: {
				New: func() runtime.Object { return &eventsv1.Event{} },
				ToHub: func(obj runtime.Object) (*corev1.Event, error) {
					return eventToHub(obj.(*eventsv1.Event)), nil
				},
				FromHub: func(e *corev1.Event) (runtime.Object, error) { return eventFromHub(e), nil },
			},
		},
	})
}

// coreEventFields and newEventFields are the field selectors of the two endpoints; both map to the keys of
// eventFields.
var (
	coreEventFields = map[string]string{
		"involvedObject.kind": "", "involvedObject.namespace": "", "involvedObject.name": "", "involvedObject.uid": "",
		"involvedObject.apiVersion": "", "involvedObject.resourceVersion": "", "involvedObject.fieldPath": "",
		"reason": "", "reportingComponent": "", "source": "", "type": "",
	}
	newEventFields = map[string]string{
		"regarding.kind":            "involvedObject.kind",
		"regarding.namespace":       "involvedObject.namespace",
		"regarding.name":            "involvedObject.name",
		"regarding.uid":             "involvedObject.uid",
		"regarding.apiVersion":      "involvedObject.apiVersion",
		"regarding.resourceVersion": "involvedObject.resourceVersion",
		"regarding.fieldPath":       "involvedObject.fieldPath",
		"reportingController":       "reportingComponent",
		"reason":                    "",
		"type":                      "",
	}
)

// eventFields omits empty values: a selector treats a missing field as the empty string.
func eventFields(e *corev1.Event) map[string]string {
	o := &e.InvolvedObject
	fields := make(map[string]string, 8)
	for name, value := range map[string]string{
		"involvedObject.kind":            o.Kind,
		"involvedObject.namespace":       o.Namespace,
		"involvedObject.name":            o.Name,
		"involvedObject.uid":             string(o.UID),
		"involvedObject.apiVersion":      o.APIVersion,
		"involvedObject.resourceVersion": o.ResourceVersion,
		"involvedObject.fieldPath":       o.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         cmp.Or(e.Source.Component, e.ReportingController),
		"type":                           e.Type,
	} {
		if value != "" {
			fields[name] = value
		}
	}
	return fields
}

var eventColumns = func() []metav1.TableColumnDefinition {
	doc, ref := corev1.Event{}.SwaggerDoc(), corev1.ObjectReference{}.SwaggerDoc()
	name := kind.NameColumn
	name.Priority = 1
	return []metav1.TableColumnDefinition{
		textColumn("Last Seen", doc["lastTimestamp"], 0),
		textColumn("Type", doc["type"], 0),
		textColumn("Reason", doc["reason"], 0),
		textColumn("Object", doc["involvedObject"], 0),
		textColumn("Subobject", ref["fieldPath"], 1),
		textColumn("Source", doc["source"], 1),
		textColumn("Message", doc["message"], 0),
		textColumn("First Seen", doc["firstTimestamp"], 1),
		textColumn("Count", doc["count"], 1),
		name,
	}
}()

func eventRow(e *corev1.Event, now time.Time) []any {
	first, last, count := e.FirstTimestamp.Time, e.LastTimestamp.Time, int64(e.Count)
	if first.IsZero() {
		first = e.EventTime.Time
	}
	if last.IsZero() {
		last = first
	}
	if e.Series != nil {
		last, count = e.Series.LastObservedTime.Time, int64(e.Series.Count)
	} else if count == 0 {
		count = 1
	}
	target := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		target += "/" + e.InvolvedObject.Name
	}
	source := cmp.Or(e.Source.Component, e.ReportingController)
	if instance := cmp.Or(e.Source.Host, e.ReportingInstance); instance != "" {
		source += ", " + instance
	}
	return []any{
		kind.Age(last, now), e.Type, e.Reason, target, e.InvolvedObject.FieldPath, source,
		strings.TrimSpace(e.Message), kind.Age(first, now), count, e.Name,
	}
}
