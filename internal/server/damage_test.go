package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// startDamaged starts a plane twice; the second time, the objects of some keys cannot be read. The first time
// created the config maps a, b and c, and a Service s, in the namespace default.
func startDamaged(t *testing.T, lost ...object.Key) *testPlane {
	t.Helper()
	journal := storetest.NewJournal()
	first, err := bowline.Start(t.Context(),
		bowline.Options{Controllers: []string{bowline.NoControllers}, Storage: journal.Open()})
	if err != nil {
		t.Fatal(err)
	}
	w := &testPlane{Plane: first}
	w.connect(t, w.RESTConfig())
	w.createConfigMaps(t, "default", "a", "b", "c")
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.77", Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := w.clients.CoreV1().Services("default").Create(t.Context(), service,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	storage := &storetest.Damaged{Log: journal.Open(), Keys: lost}
	_, err = bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}, Storage: storage})
	var damage *store.DamagedError
	if !errors.As(err, &damage) || len(damage.Damaged) != len(lost) {
		t.Fatalf("Start without AcceptDamage returned %v, want a DamagedError", err)
	}
	return start(t, func(o *bowline.Options) {
		o.AcceptDamage, o.Storage = true, &storetest.Damaged{Log: journal.Open(), Keys: lost}
	})
}

const damagedMap = object.Key("/configmaps/default/b")

func TestDamagedObjectReturnsReadError(t *testing.T) {
	t.Parallel()
	w := startDamaged(t, damagedMap)
	message := `configmaps "default/b" is damaged and cannot be read: ` + storetest.ErrDamage.Error() +
		"; restore the plane from a backup with bowline restore, or delete the object"
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`
	for _, c := range []struct{ method, path, body, media string }{
		{http.MethodGet, configMaps + "/b", "", ""},
		{http.MethodGet, configMaps + "?fieldSelector=metadata.name%3Db", "", ""},
		{http.MethodPost, configMaps, body, jsonType},
		{http.MethodPost, configMaps + "?dryRun=All", body, jsonType},
		{http.MethodPut, configMaps + "/b", body, jsonType},
		{http.MethodPatch, configMaps + "/b", `{"data":{"a":"b"}}`, mergeType},
		{http.MethodPatch, configMaps + "/b?fieldManager=f", body, applyType},
	} {
		w.send(t, c.method, c.path, c.body, "Content-Type", c.media).
			wantError(t, http.StatusInternalServerError, metav1.StatusReasonStoreReadError, message)
	}
	_, err := w.clients.CoreV1().ConfigMaps("default").Get(t.Context(), "b", metav1.GetOptions{})
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Details.Name != "b" ||
		apierrors.IsNotFound(err) {
		t.Errorf("client-go returned %v", err)
	}
}

func TestListSkipsDamagedObjects(t *testing.T) {
	t.Parallel()
	w := startDamaged(t, damagedMap)
	warning := `299 - "incomplete list: 1 of configmaps cannot be read and are left out: default/b"`
	for path, want := range map[string]string{
		configMaps:                          warning,
		configMaps + "?limit=1":             warning,
		"/api/v1/configmaps":                warning,
		"/api/v1/namespaces/x/configmaps":   "",
		"/api/v1/namespaces/default/pods":   "",
		configMaps + "/a":                   "",
		configMaps + "?labelSelector=a%3Db": warning,
	} {
		answer := w.get(t, path)
		if got := answer.header.Get("Warning"); answer.code != http.StatusOK || got != want {
			t.Errorf("%s: %d with the warning %s", path, answer.code, got)
		}
	}
	if got := w.names(t, configMaps); got != "a c" {
		t.Errorf("the config maps are %q", got)
	}
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
	w.createConfigMaps(t, "default", "d")
	if got := w.names(t, configMaps); got != "c d" {
		t.Errorf("the config maps are %q", got)
	}
}

func TestDeleteDamagedObject(t *testing.T) {
	t.Parallel()
	w := startDamaged(t, damagedMap, "/services/default/s")
	maps := w.clients.CoreV1().ConfigMaps("default")
	uid := types.UID("x")
	err := maps.Delete(t.Context(), "b", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if !apierrors.IsConflict(err) {
		t.Errorf("a delete with another uid returned %v, want a conflict", err)
	}
	if err := maps.Delete(t.Context(), "b", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	answer := w.send(t, http.MethodDelete, configMaps+"/b", "")
	if want := `configmaps \"default/b\" could not be read`; answer.code != http.StatusOK ||
		!strings.Contains(answer.header.Get("Warning"), want) {
		t.Errorf("the delete was answered %d with the warning %s", answer.code, answer.header.Get("Warning"))
	}
	if _, err := maps.Get(t.Context(), "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the delete: %v", err)
	}
	w.createConfigMaps(t, "default", "b")
	if answer := w.get(t, configMaps); answer.header.Get("Warning") != "" {
		t.Errorf("a list after the delete still warns: %s", answer.header.Get("Warning"))
	}

	// With the option to ignore read errors it can be deleted, which releases the Service's address.
	ignore := true
	services := w.clients.CoreV1().Services("default")
	if err := services.Delete(t.Context(), "s",
		metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &ignore}); err != nil {
		t.Fatal(err)
	}
	recreated := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s2"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.77", Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := services.Create(t.Context(), recreated, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestHealthAndMetricsReportDamage(t *testing.T) {
	t.Parallel()
	w := startDamaged(t, damagedMap)
	if ready := w.get(t, "/readyz?verbose"); ready.code != http.StatusOK ||
		!bytes.Contains(ready.body, []byte("[!]damage failed (informational)")) {
		t.Errorf("/readyz was answered %d\n%s", ready.code, ready.body)
	}
	if alone := w.get(t, "/readyz/damage"); alone.code != http.StatusInternalServerError ||
		!bytes.Contains(alone.body, []byte("1 objects are damaged")) {
		t.Errorf("/readyz/damage was answered %d\n%s", alone.code, alone.body)
	}
	if metrics := w.get(t, "/metrics"); !bytes.Contains(metrics.body, []byte("\nbowline_store_damaged_objects 1\n")) {
		t.Error("/metrics does not report one damaged object")
	}
	head, objects := backedUp(t, bytes.NewReader(w.get(t, backupPath).body))
	if len(head.Damaged) != 1 || head.Damaged[0] != damagedMap || objects["/configmaps/default/a"] == 0 {
		text, _ := json.Marshal(head)
		t.Errorf("the head of the backup is %s", text)
	}
}

// A plane starts even if its own namespaces are damaged, and does not replace them.
func TestStartWithDamagedNamespaces(t *testing.T) {
	t.Parallel()
	w := startDamaged(t, "/namespaces//default", "/namespaces//kube-system", "/services/default/kubernetes")
	w.get(t, "/api/v1/namespaces/default").wantError(t, http.StatusInternalServerError,
		metav1.StatusReasonStoreReadError,
		"damaged")
	w.send(t, http.MethodPost, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`,
		"Content-Type", jsonType).
		wantError(t, http.StatusInternalServerError, metav1.StatusReasonStoreReadError,
			`namespaces "default" is damaged`)
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
}

// Requests for a resource whose definition is damaged are not a 404, since clients would assume that the
// objects are gone.
func TestDamagedDefinitionIsNotNotFound(t *testing.T) {
	t.Parallel()
	journal := populatedJournal(t)
	const key = object.Key("apiextensions.k8s.io/customresourcedefinitions//widgets.example.com")
	w := start(t, func(o *bowline.Options) {
		o.AcceptDamage, o.Storage = true, &storetest.Damaged{Log: journal.Open(), Keys: []object.Key{key}}
	})
	message := `customresourcedefinitions.apiextensions.k8s.io "widgets.example.com" is damaged and cannot be read`
	for _, path := range []string{widgetsPath, widgetsPath + "/w", widgetsPath + "?watch=1"} {
		w.get(t, path).wantError(t, http.StatusInternalServerError, metav1.StatusReasonStoreReadError, message)
	}
	_, err := w.Source().List(t.Context(), widgetsResource, client.Options{})
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) ||
		status.Status().Reason != metav1.StatusReasonStoreReadError {
		t.Errorf("the list of an informer returned %v", err)
	}
	// A deleted and recreated definition serves the existing objects.
	undefine(t, w, "widgets.example.com")
	w.get(t, widgetsPath).want(t, http.StatusNotFound)
	define(t, w, widgets())
	if got := w.names(t, widgetsPath); got != "w" {
		t.Errorf("the widgets are %q", got)
	}
}
