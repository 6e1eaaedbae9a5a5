package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

const ownedDeployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},` +
	`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// owners returns the ownership of the object in an answer: "MANAGER OPERATION[/SUBRESOURCE] APIVERSION
// FIELDS", in order.
func (r response) owners(t testing.TB) []string {
	t.Helper()
	var obj metav1.PartialObjectMetadata
	r.into(t, &obj)
	var out []string
	for _, e := range obj.ManagedFields {
		operation := string(e.Operation)
		if e.Subresource != "" {
			operation += "/" + e.Subresource
		}
		out = append(out, fmt.Sprintf("%s %s %s %s", e.Manager, operation, e.APIVersion, e.FieldsV1.GetRawBytes()))
	}
	return out
}

// owned compares the ownership of the object in an answer with lines, in any order: the order depends on the
// second of the write.
func (r response) owned(t testing.TB, lines ...string) {
	t.Helper()
	r.want(t, http.StatusOK)
	got, want := slices.Sorted(slices.Values(r.owners(t))), slices.Sorted(slices.Values(lines))
	if !slices.Equal(got, want) {
		t.Errorf("owners are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The manager of a request without fieldManager is its User-Agent up to the first slash, without control characters,
// cut to 128 bytes.
func TestManagerFromUserAgent(t *testing.T) {
	t.Parallel()
	w := start(t)
	long := strings.Repeat("é", 100)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"},"data":{"k":"1"}}`, "User-Agent",
		"\t"+long+"/1").want(t, http.StatusCreated)
	w.get(t, configMaps+"/a").owned(t, long[:128]+` Update v1 {"f:data":{".":{},"f:k":{}}}`)
}

// Owners are ordered by operation (apply before update), then by the second of the write, then by name.
func TestManagedFieldsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		a := configMaps + "/a"
		applied := func(key string) string {
			return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"` + key + `":"1"}}`
		}
		w.send(t, http.MethodPost, configMaps+"?fieldManager=a-first",
			`{"metadata":{"name":"a"},"data":{"k":"1"}}`).want(t, http.StatusCreated)
		w.apply(t, a, "z", applied("z")).want(t, http.StatusOK)
		time.Sleep(time.Second)
		w.apply(t, a, "y", applied("y")).want(t, http.StatusOK)
		got := w.apply(t, a, "x", applied("x")).owners(t)
		for i, manager := range []string{"z Apply", "x Apply", "y Apply", "a-first Update"} {
			if i >= len(got) || !strings.HasPrefix(got[i], manager+" ") {
				t.Errorf("owner %d of %q is not %s", i, got, manager)
			}
		}
	})
}

// When more than ten managers have updated an object, the oldest are merged.
func TestOldestManagersAreMerged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`, "User-Agent",
			"first").want(t, http.StatusCreated)
		for i := range 12 {
			time.Sleep(time.Second) // the bubble's: each manager has a time of its own
			w.send(t, http.MethodPatch, fmt.Sprintf("%s/a?fieldManager=m%02d", configMaps, i),
				fmt.Sprintf(`{"data":{"k%02d":"v"}}`, i), "Content-Type", mergeType).want(t, http.StatusOK)
		}
		all := w.get(t, configMaps+"/a").owners(t)
		if len(all) != 10 || !strings.HasPrefix(all[0], "ancient-changes Update v1 ") ||
			!strings.Contains(all[0], "f:k00") || !strings.HasPrefix(all[9], "m11 ") {
			t.Errorf("after twelve managers: %q", all)
		}
	})
}

// A write of any verb that changes nothing leaves revision and timestamps unchanged.
func TestNoOpWriteKeepsRevisionAndTimestamps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}}`
		apply := func() response {
			return w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=m", body, "Content-Type", applyType)
		}
		apply().want(t, http.StatusCreated)
		w.send(t, http.MethodPut, configMaps+"/a?fieldManager=m",
			strings.Replace(body, `"k":"1"`, `"k":"1","l":"2"`, 1)).want(t, http.StatusOK)
		was := string(w.get(t, configMaps+"/a").body)
		time.Sleep(time.Minute)
		apply().want(t, http.StatusOK)
		w.send(t, http.MethodPut, configMaps+"/a?fieldManager=m",
			strings.Replace(body, `"k":"1"`, `"k":"1","l":"2"`, 1)).want(t, http.StatusOK)
		w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=m", `{"data":{"l":"2"}}`, "Content-Type",
			mergeType).want(t, http.StatusOK)
		if is := string(w.get(t, configMaps+"/a").body); is != was {
			t.Errorf("it was\n%s\nand is\n%s", was, is)
		}
		// What Kubernetes undoes (a status sent to the object itself) changes nothing either.
		w.send(t, http.MethodPost, deployments+"?fieldManager=m", ownedDeployment).want(t, http.StatusCreated)
		was = string(w.get(t, deployments+"/d").body)
		time.Sleep(time.Minute)
		w.send(t, http.MethodPatch, deployments+"/d?fieldManager=m", `{"status":{"replicas":3}}`, "Content-Type",
			mergeType).want(t, http.StatusOK)
		if is := string(w.get(t, deployments+"/d").body); is != was {
			t.Errorf("it was\n%s\nand is\n%s", was, is)
		}
	})
}

// invalidOwner is a plugin that sets invalid ownership.
type invalidOwner struct{}

func (invalidOwner) Name() string { return "InvalidOwner" }

func (invalidOwner) Handles(_ admission.Operation, resource resourceOf, _ string) bool {
	return resource.Resource == "configmaps" || resource.Resource == "widgets"
}

func (invalidOwner) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	if a.Object != nil {
		a.Object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "invalid", Operation: "Nope"}})
	}
	return nil
}

func (invalidOwner) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Invalid ownership of a plugin is reverted, with a warning.
func TestInvalidOwnershipOfPluginIsReverted(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{invalidOwner{}} })
	r := w.send(t, http.MethodPost, configMaps+"?fieldManager=m", `{"metadata":{"name":"a"},"data":{"k":"1"}}`).want(t,
		http.StatusCreated)
	if got := r.header.Get("Warning"); !strings.Contains(got,
		".metadata.managedFields was in an invalid state after admission") {
		t.Errorf("the warning is %q", got)
	}
	w.get(t, configMaps+"/a").owned(t, `m Update v1 {"f:data":{".":{},"f:k":{}}}`)
	define(t, w, widgets())
	r = w.send(t, http.MethodPost, widgetsPath+"?fieldManager=m", widget("a", `{"size":1}`)).want(t, http.StatusCreated)
	if got := r.header.Get("Warning"); !strings.Contains(got,
		".metadata.managedFields was in an invalid state after admission") {
		t.Errorf("of a custom resource, warned %q", got)
	}
	if got := w.get(t, widgetsPath+"/a").owners(t); len(got) != 1 ||
		!strings.HasPrefix(got[0], `m Update example.com/v1 {"f:spec":`) {
		t.Errorf("of a custom resource, owned by %q", got)
	}
}
