package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

func TestGenerateName(t *testing.T) {
	t.Parallel()
	w := start(t)
	generated := func(prefix string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	}
	maps := w.clients.CoreV1().ConfigMaps("default")
	shape := regexp.MustCompile(`^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	seen := map[string]bool{}
	for range 20 {
		cm := must(maps.Create(t.Context(), generated("web-"), metav1.CreateOptions{}))(t)
		if !shape.MatchString(cm.Name) || cm.GenerateName != "web-" || seen[cm.Name] {
			t.Errorf("generated %q of %q", cm.Name, cm.GenerateName)
		}
		seen[cm.Name] = true
	}
	if long := must(maps.Create(t.Context(), generated(strings.Repeat("x", 100)),
		metav1.CreateOptions{}))(t); len(long.Name) != 63 {
		t.Errorf("a long prefix gives %d characters: %s", len(long.Name), long.Name)
	}
	both := generated("prefix-")
	both.Name = "own"
	if cm := must(maps.Create(t.Context(), both, metav1.CreateOptions{}))(t); cm.Name != "own" {
		t.Errorf("with a name and a prefix, the name is %q", cm.Name)
	}
	w.send(t, http.MethodPost, configMaps, `{"metadata":{}}`).wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "name or generateName is required")
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"UPPER-"}}`).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "metadata.generateName")
}

// nameCollider is a plugin that gives objects with a generated name an existing name, a limited number of times.
type nameCollider struct {
	name  string
	times int
}

func (*nameCollider) Name() string { return "Taken" }
func (*nameCollider) Handles(op admission.Operation, r resourceOf, _ string) bool {
	return op == admission.Create && r.Resource == "configmaps"
}
func (p *nameCollider) Validate(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	if a.Object.GetGenerateName() != "" && p.times > 0 {
		p.times--
		a.Object.SetName(p.name)
	}
	return nil
}
func (*nameCollider) Admit(ctx, *admission.Attributes, admission.Reader) error { return nil }

// A create with a generated name that exists is retried with another name. It fails after too many attempts.
func TestGenerateNameRetriesOnCollision(t *testing.T) {
	t.Parallel()
	plugin := &nameCollider{name: "there"}
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{plugin} })
	w.createConfigMaps(t, "default", "there")
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}}
	plugin.times = 5
	if got := must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm,
		metav1.CreateOptions{}))(t); got.Name == "there" || plugin.times != 0 {
		t.Errorf("created %s with %d collisions to come", got.Name, plugin.times)
	}
	plugin.times = 1000
	_, err := w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("with no free name: %v, want AlreadyExists", err)
	}
}

// Clients cannot set the UID and the timestamps.
func TestClientsCannotSetUIDAndTimestamps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		began := time.Now().UTC().Format(time.RFC3339)
		body := `{"metadata":{"name":"a","uid":"mine","creationTimestamp":"1999-01-01T00:00:00Z","deletionTimestamp":"1999-01-01T00:00:00Z",
			"deletionGracePeriodSeconds":5,"generation":9,"selfLink":"/mine","managedFields":[]}}`
		created := w.create(t, configMaps, body)
		uid, _ := valueAt(created, "metadata", "uid").(string)
		if len(uid) != 36 || valueAt(created, "metadata", "creationTimestamp") != began {
			t.Errorf("created %v", created)
		}
		for _, field := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
			if got := valueAt(created, "metadata", field); got != nil {
				t.Errorf("%s is %v", field, got)
			}
		}
		time.Sleep(time.Hour)
		for _, update := range []string{
			`{"metadata":{"name":"a","creationTimestamp":"1999-01-01T00:00:00Z","generation":3}}`,
			`{"metadata":{"name":"a"}}`,
		} {
			updated := w.send(t, http.MethodPut, configMaps+"/a", update).want(t, http.StatusOK).object(t)
			if valueAt(updated, "metadata", "uid") != uid ||
				valueAt(updated, "metadata", "creationTimestamp") != began ||
				valueAt(updated, "metadata", "deletionTimestamp") != nil {
				t.Errorf("updated %v", updated)
			}
		}
		for _, field := range []string{`"deletionTimestamp":"1999-01-01T00:00:00Z"`, `"deletionGracePeriodSeconds":1`} {
			w.send(t, http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a",`+field+`}}`).wantError(t,
				http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "field is immutable")
		}
		w.send(t, http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a","uid":"other"}}`).wantError(t,
			http.StatusConflict, metav1.StatusReasonConflict, "Precondition failed: UID in precondition: other")
	})
}

func deploymentBody(name string) string {
	return `{"metadata":{"name":"` + name +
		`"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"nginx:1"}]}}}}`
}

// An update that changes nothing leaves the revision unchanged, and causes no event.
func TestNoOpUpdateKeepsRevision(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a", "k", "1"),
		metav1.CreateOptions{}))(t)
	w.create(t, widgetsPath, widget("a", `{"size":1}`))
	for _, path := range []string{configMaps + "/a", widgetsPath + "/a"} {
		before := w.get(t, path).want(t, http.StatusOK)
		revision := valueAt(before.object(t), "metadata", "resourceVersion").(string)
		s := w.open(t, path[:len(path)-2]+"?watch=1&resourceVersion="+revision)
		for _, write := range []struct{ method, contentType, body string }{
			{http.MethodPut, jsonType, string(before.body)},
			{http.MethodPatch, mergeType, `{}`},
			{http.MethodPatch, mergeType, `{"metadata":{"labels":{"not-there":null}}}`},
			{http.MethodPatch, jsonPatchType, `[]`},
		} {
			after := w.send(t, write.method, path, write.body, "Content-Type", write.contentType).want(t, http.StatusOK)
			if got := valueAt(after.object(t), "metadata", "resourceVersion"); got != revision {
				t.Errorf("%s %s %s: the revision moved from %s to %v", write.method, path, write.body, revision, got)
			}
		}
		w.send(t, http.MethodDelete, path, "").want(t, http.StatusOK)
		s.want(t, "DELETED a")
	}
	// a typed client that reads protobuf and writes JSON changes nothing either
	must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("b", "k", "1"),
		metav1.CreateOptions{}))(t)
	proto, plain := typed(t, w.config, protobufType), typed(t, w.config, jsonType)
	read := must(plain.CoreV1().ConfigMaps("default").Get(t.Context(), "b", metav1.GetOptions{}))(t)
	for _, clients := range []interface {
		Update(ctx, *corev1.ConfigMap, metav1.UpdateOptions) (*corev1.ConfigMap, error)
		Patch(ctx, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.ConfigMap, error)
	}{proto.CoreV1().ConfigMaps("default"), plain.CoreV1().ConfigMaps("default")} {
		written := must(clients.Update(t.Context(), read, metav1.UpdateOptions{}))(t)
		if written.ResourceVersion != read.ResourceVersion {
			t.Errorf("the revision moved from %s to %s", read.ResourceVersion, written.ResourceVersion)
		}
	}
}
