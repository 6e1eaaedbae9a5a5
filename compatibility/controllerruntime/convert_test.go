package controllerruntime

import (
	"context"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// OldShip is version v1 of a ship. Fields that only v2 has are preserved in an annotation.
type OldShip struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              OldShipSpec `json:"spec,omitempty"`
	Status            ShipStatus  `json:"status,omitempty"`
}

type OldShipSpec struct {
	Size string `json:"size,omitempty"`
}

type OldShipList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OldShip `json:"items"`
}

func (s *OldShip) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (l *OldShipList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*OldShip))
	}
	return &c
}

const crewNote = "example.com/crew"

// Hub marks v2 as the hub version of conversions.
func (*Ship) Hub() {}

// ConvertTo converts this v1 ship to the given v2 ship.
func (s *OldShip) ConvertTo(hub conversion.Hub) error {
	to := hub.(*Ship)
	to.ObjectMeta, to.Status = s.ObjectMeta, s.Status
	to.Spec = ShipSpec{Tonnes: 10, Crew: s.Annotations[crewNote]}
	if s.Spec.Size == "large" {
		to.Spec.Tonnes = 1000
	}
	delete(to.Annotations, crewNote)
	return nil
}

// ConvertFrom converts the given v2 ship to this v1 ship.
func (s *OldShip) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Ship)
	s.ObjectMeta, s.Status, s.Spec.Size = from.ObjectMeta, from.Status, "small"
	if from.Spec.Tonnes >= 100 {
		s.Spec.Size = "large"
	}
	if from.Spec.Crew != "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, crewNote, from.Spec.Crew)
	}
	return nil
}

// twoVersions starts a plane with ships in both versions, and controller-runtime's webhook server as their
// converter.
func twoVersions(t *testing.T) client.WithWatch {
	t.Helper()
	config, scheme := plane.Start(t), newScheme()
	v1 := schema.GroupVersion{Group: v2.Group, Version: "v1"}
	scheme.AddKnownTypeWithName(v1.WithKind("Ship"), &OldShip{})
	scheme.AddKnownTypeWithName(v1.WithKind("ShipList"), &OldShipList{})
	metav1.AddToGroupVersion(scheme, v1)

	hooks := envtest.WebhookInstallOptions{}
	ok(t, hooks.PrepWithoutInstalling())
	t.Cleanup(func() { ok(t, hooks.Cleanup()) })
	m := plane.Must(manager.New(config, manager.Options{
		Scheme: scheme, Logger: quiet, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	}))(t)
	ok(t, builder.WebhookManagedBy(m, &Ship{}).Complete())
	t.Cleanup(run(t, m))
	serving(t, m.GetWebhookServer())
	options := envtest.CRDInstallOptions{Scheme: scheme, Paths: []string{"testdata"}, ErrorIfPathMissing: true,
		WebhookOptions: hooks}
	plane.Must(envtest.InstallCRDs(config, options))(t)
	return plane.Must(client.NewWithWatch(config, client.Options{Scheme: scheme}))(t)
}

// serving waits until the webhook server answers.
func serving(t *testing.T, s webhook.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	started := s.StartedChecker()
	for tick := time.NewTicker(10 * time.Millisecond); started(&http.Request{}) != nil; {
		select {
		case <-tick.C: // the library has no event to wait for
		case <-ctx.Done():
			t.Fatal("the webhook server did not start in time")
		}
	}
}

// TestWebhookServerConvertsBetweenVersions writes in either version, and reads, lists, watches, updates and
// patches in the other.
func TestWebhookServerConvertsBetweenVersions(t *testing.T) {
	t.Parallel()
	c, ctx := twoVersions(t), t.Context()
	w := plane.Must(c.Watch(ctx, &OldShipList{}))(t)
	defer w.Stop()
	old := &OldShip{ObjectMeta: named("old"), Spec: OldShipSpec{Size: "large"}}
	ok(t, c.Create(ctx, old))
	current := &Ship{ObjectMeta: named("new"), Spec: ShipSpec{Tonnes: 5, Crew: "six"}}
	ok(t, c.Create(ctx, current))

	var asNew Ship
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(old), &asNew))
	if asNew.Spec.Tonnes != 1000 || asNew.UID != old.UID {
		t.Errorf("v1 ship read in v2: got %v, want 1000 tonnes", asNew)
	}
	var asOld OldShip
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(current), &asOld))
	if asOld.Spec.Size != "small" || asOld.Annotations[crewNote] != "six" {
		t.Errorf("v2 ship read in v1: got %v, want size small and the crew annotation", asOld)
	}
	base := asOld.DeepCopyObject().(*OldShip)
	asOld.Spec.Size = "large"
	ok(t, c.Patch(ctx, &asOld, client.MergeFrom(base)))
	ok(t, c.Get(ctx, client.ObjectKeyFromObject(current), current))
	if current.Spec != (ShipSpec{Tonnes: 1000, Crew: "six"}) || current.Annotations[crewNote] != "" {
		t.Errorf("after a patch in v1: got %v, want 1000 tonnes and crew six", current)
	}
	current.Status.Cargo = "tea"
	ok(t, c.Status().Update(ctx, current))

	var list OldShipList
	ok(t, c.List(ctx, &list, client.InNamespace(ns)))
	if len(list.Items) != 2 || list.Items[0].Spec.Size != "large" || list.Items[0].Status.Cargo != "tea" {
		t.Errorf("list in v1: got %v", list.Items)
	}
	seen := await(t, w, func(_ watch.EventType, s *OldShip) bool { return s.Status.Cargo == "tea" })
	if seen.Spec.Size != "large" || seen.Annotations[crewNote] != "six" {
		t.Errorf("watch in v1: got %v, want size large and the crew annotation", seen)
	}
}
