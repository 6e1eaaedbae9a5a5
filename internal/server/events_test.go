package server_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An event is one object under two endpoints. What one endpoint writes, the other reads and watches in its
// own form.
func TestEventInBothGroups(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{jsonType, protobufType} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			clients := typed(t, w.config, contentType)
			old, recent := clients.CoreV1().Events("default"), clients.EventsV1().Events("default")
			watchOld := must(old.Watch(t.Context(), metav1.ListOptions{}))(t)
			defer watchOld.Stop()
			watchNew := must(recent.Watch(t.Context(), metav1.ListOptions{}))(t)
			defer watchNew.Stop()

			pod := corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p", UID: "u"}
			now := metav1.NewTime(time.Now().Truncate(time.Second))
			written := must(old.Create(t.Context(), &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "old"}, InvolvedObject: pod, Reason: "Started", Message: "it runs",
				Type:   "Normal",
				Source: corev1.EventSource{Component: "kubelet", Host: "n1"}, FirstTimestamp: now, LastTimestamp: now,
				Count: 2,
			}, metav1.CreateOptions{}))(t)
			shown := must(recent.Get(t.Context(), "old", metav1.GetOptions{}))(t)
			if shown.UID != written.UID || shown.ResourceVersion != written.ResourceVersion || shown.Regarding != pod ||
				shown.Note != "it runs" ||
				shown.DeprecatedSource.Host != "n1" || shown.DeprecatedCount != 2 ||
				!shown.DeprecatedFirstTimestamp.Equal(&now) {
				t.Errorf("events.k8s.io shows %+v", shown)
			}
			must(recent.Create(t.Context(), &eventsv1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "new"}, Regarding: pod, Reason: "Killed", Note: "it ran",
				Type: "Warning", Action: "Kill",
				EventTime: metav1.NowMicro(), ReportingController: "example.com/killer", ReportingInstance: "killer-1",
			}, metav1.CreateOptions{}))(t)
			if back := must(old.Get(t.Context(), "new", metav1.GetOptions{}))(t); back.InvolvedObject != pod ||
				back.Message != "it ran" || back.ReportingController != "example.com/killer" {
				t.Errorf("core shows %+v", back)
			}
			must(old.Patch(t.Context(), "old", types.MergePatchType, []byte(`{"count":3}`), metav1.PatchOptions{}))(t)
			if err := recent.Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			wantEvents(t, watchOld, "ADDED old", "ADDED new", "MODIFIED old", "DELETED old")
			wantEvents(t, watchNew, "ADDED old", "ADDED new", "MODIFIED old", "DELETED old")
			if list := must(recent.List(t.Context(),
				metav1.ListOptions{FieldSelector: "regarding.name=p"}))(t); len(list.Items) != 1 {
				t.Errorf("%d events regard the pod", len(list.Items))
			}
			if list := must(old.List(t.Context(),
				metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,reason=Killed,type=Warning"}))(t); len(list.Items) != 1 {
				t.Errorf("%d events involve the pod", len(list.Items))
			}
		})
	}
}
