package clientgo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestEventRecordersOfBothAPIs checks that the events of either API are readable through both.
func TestEventRecordersOfBothAPIs(t *testing.T) {
	t.Parallel()
	clients, ctx := plane.Must(kubernetes.NewForConfig(plane.Start(t)))(t), t.Context()
	configMaps(t, clients, 1)
	about := plane.Must(clients.CoreV1().ConfigMaps(ns).Get(ctx, "0", metav1.GetOptions{}))(t)
	asCore := plane.Must(clients.CoreV1().Events(ns).Watch(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.name=0"}))(t)
	defer asCore.Stop()
	asEvents := plane.Must(clients.EventsV1().Events(ns).Watch(ctx,
		metav1.ListOptions{FieldSelector: "regarding.name=0"}))(t)
	defer asEvents.Stop()

	old := record.NewBroadcaster(record.WithContext(ctx))
	defer old.Shutdown()
	old.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: clients.CoreV1().Events("")})
	recorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old"})
	recorder.Eventf(about, corev1.EventTypeNormal, "Same", "message %s", "repeated")
	expectReason(t, asCore, watch.Added, "Same", 1)
	expectReason(t, asEvents, watch.Added, "Same", 1)
	// a repetition increments the count of the event
	recorder.Eventf(about, corev1.EventTypeNormal, "Same", "message %s", "repeated")
	expectReason(t, asCore, watch.Modified, "Same", 2)
	expectReason(t, asEvents, watch.Modified, "Same", 2)

	current := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	defer current.Shutdown()
	if err := current.StartRecordingToSinkWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	current.NewRecorder(scheme.Scheme, "example.com/new").Eventf(about, nil, corev1.EventTypeWarning, "Other", "Trying",
		"a note")
	expectReason(t, asCore, watch.Added, "Other", 0)
	expectReason(t, asEvents, watch.Added, "Other", 0)
}

func expectReason(t *testing.T, w watch.Interface, kind watch.EventType, reason string, count int32) {
	t.Helper()
	e := <-w.ResultChan()
	got, n := "", int32(0)
	switch o := e.Object.(type) {
	case *corev1.Event:
		got, n = o.Reason, o.Count
	case *eventsv1.Event:
		got, n = o.Reason, o.DeprecatedCount
	}
	if e.Type != kind || got != reason || n != count {
		t.Errorf("got %s %v, want %s %s with count %d", e.Type, e.Object, kind, reason, count)
	}
}
