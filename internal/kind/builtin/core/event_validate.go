package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// Maximum lengths for events written through events.k8s.io, in bytes (pkg/apis/core/validation/events.go).
const (
	maxEventField = 128
	maxEventNote  = 1024
)

// validateEvent has stricter rules for writes through events.k8s.io; the core version accepts what old
// clients send, with any valid metadata.
func validateEvent(e, old *corev1.Event, _ string) field.ErrorList {
	errs := validateAnyEvent(e)
	switch {
	case e.APIVersion != eventsAPIVersion:
		return errs
	case old == nil:
		return append(errs, validateNewEvent(e)...)
	}
	return append(errs, validateNewEventUpdate(e, old)...)
}

// validateAnyEvent has the rules of both versions. An event with an eventTime is a new-style event,
// regardless of the version of the request, and must name its reporter.
func validateAnyEvent(e *corev1.Event) field.ErrorList {
	if e.EventTime.IsZero() {
		return validateEventNamespace(e)
	}
	return validateEventReport(e)
}

// validateEventNamespace requires the event to be in the namespace of its object, or in default for a
// cluster-scoped object.
func validateEventNamespace(e *corev1.Event) field.ErrorList {
	about := e.InvolvedObject.Namespace
	if about == e.Namespace || about == "" && e.Namespace == metav1.NamespaceDefault {
		return nil
	}
	return eventNamespaceMismatch(about)
}

func eventNamespaceMismatch(namespace string) field.ErrorList {
	path := field.NewPath("involvedObject", "namespace")
	return field.ErrorList{field.Invalid(path, namespace, "does not match event.namespace")}
}

func validateEventReport(e *corev1.Event) (errs field.ErrorList) {
	about := e.InvolvedObject.Namespace
	if about == "" && e.Namespace != metav1.NamespaceDefault && e.Namespace != metav1.NamespaceSystem {
		errs = append(errs, eventNamespaceMismatch(about)...)
	}
	controller := field.NewPath("reportingComponent") // its name in the core version
	if e.APIVersion == eventsAPIVersion {
		controller = field.NewPath("reportingController")
	}
	if e.ReportingController == "" {
		errs = append(errs, field.Required(controller, ""))
	}
	errs = append(errs, fieldcheck.Invalid(controller, e.ReportingController,
		validation.IsQualifiedName(e.ReportingController))...)
	errs = append(errs, validateEventText("reportingInstance", e.ReportingInstance)...)
	errs = append(errs, validateEventText("action", e.Action)...)
	errs = append(errs, validateEventText("reason", e.Reason)...)
	if len(e.Message) > maxEventNote {
		errs = append(errs, field.Invalid(field.NewPath("message"), "",
			fmt.Sprintf("can have at most %v characters", maxEventNote)))
	}
	return errs
}

// validateEventText validates a required short text. The error omits the value.
func validateEventText(name, value string) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(field.NewPath(name), "")}
	case len(value) > maxEventField:
		return field.ErrorList{field.Invalid(field.NewPath(name), "",
			fmt.Sprintf("can have at most %v characters", maxEventField))}
	}
	return nil
}

// validateNewEvent has the rules of events.k8s.io for new events in addition to validateAnyEvent: of their metadata and
// other fields. It rejects the deprecated fields of the core version.
func validateNewEvent(e *corev1.Event) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&e.ObjectMeta, true, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	errs = append(errs, fieldcheck.Finalizers(e)...)
	errs = append(errs, validateEventSeries(e)...)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", e.Type)))
	}
	unset := func(name string, isUnset bool) {
		if !isUnset {
			errs = append(errs, field.Invalid(field.NewPath(name), "", "needs to be unset"))
		}
	}
	unset("firstTimestamp", e.FirstTimestamp.IsZero())
	unset("lastTimestamp", e.LastTimestamp.IsZero())
	unset("count", e.Count == 0)
	unset("source", e.Source == corev1.EventSource{})
	return errs
}

func validateEventSeries(e *corev1.Event) (errs field.ErrorList) {
	if e.Series == nil {
		return nil
	}
	if e.Series.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if e.Series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}

// validateNewEventUpdate allows an update through events.k8s.io to change only the series and the metadata.
// As in Kubernetes, errors use the core names of the fields.
func validateNewEventUpdate(e, old *corev1.Event) field.ErrorList {
	errs := fieldcheck.Finalizers(e)
	if !equality.Semantic.DeepEqual(e.Series, old.Series) {
		errs = append(errs, validateEventSeries(e)...)
	}
	for _, f := range []struct {
		name       string
		value, old any
	}{
		{"involvedObject", e.InvolvedObject, old.InvolvedObject},
		{"reason", e.Reason, old.Reason},
		{"message", e.Message, old.Message},
		{"source", e.Source, old.Source},
		{"firstTimestamp", e.FirstTimestamp, old.FirstTimestamp},
		{"lastTimestamp", e.LastTimestamp, old.LastTimestamp},
		{"count", e.Count, old.Count},
		{"type", e.Type, old.Type},
		{"eventTime", e.EventTime, old.EventTime},
		{"action", e.Action, old.Action},
		{"related", e.Related, old.Related},
		{"reportingController", e.ReportingController, old.ReportingController},
		{"reportingInstance", e.ReportingInstance, old.ReportingInstance},
	} {
		errs = append(errs, apivalidation.ValidateImmutableField(f.value, f.old, field.NewPath(f.name))...)
	}
	return errs
}
