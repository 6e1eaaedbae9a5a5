package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const (
	slicesPath = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

	sliceDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: endpointslices.discovery.k8s.io
  annotations: {api-approved.kubernetes.io: "https://example.com"}
spec:
  group: discovery.k8s.io
  scope: Namespaced
  names: {kind: EndpointSlice, plural: endpointslices}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
)

// slice is an endpoint slice in JSON that is invalid for the built-in kind.
func slice(name string) string {
	return `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"` + name +
		`"},"addressType":"none"}`
}

// beforeSlices is the state of an older server without endpoint slices, which got them by a definition. One
// of them has the name of the API server's own.
func beforeSlices(t *testing.T) *storetest.Journal {
	t.Helper()
	journal := storetest.NewJournal()
	state, err := store.New(t.Context(), journal.Open(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	kinds := slices.DeleteFunc(builtin.Kinds(object.NewCache(0)), func(k kind.Kind) bool {
		return k.Info().Kind == "EndpointSlice"
	})
	srv, err := server.New(t.Context(), server.Options{
		Store: state, Kinds: kind.NewRegistry(kinds...), Authenticator: auth.InProcess(), Authorizer: auth.Admins(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	create := func(path, body string) {
		ctx := auth.WithUser(t.Context(), auth.NewUser("admin", auth.AdminGroup))
		r, w := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)),
			httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/json")
		if srv.Handler().ServeHTTP(w, r); w.Code != http.StatusCreated {
			t.Fatal(w.Code, w.Body)
		}
	}
	create(definitionsPath, must(jsonOf(definitionOf(t, sliceDefinition)))(t))
	create(slicesPath, slice("kubernetes"))
	return journal
}

// A definition whose kind is now built in is still served, since its objects have its schema. The built-in
// kind replaces it when it is deleted.
func TestDefinitionOfNewlyBuiltInKind(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	journal := beforeSlices(t)
	w := start(t, storedIn(journal), func(o *bowline.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	})
	for _, want := range []string{"endpointslices.discovery.k8s.io", "delete the definition"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not contain %q: %s", want, &logged)
		}
	}
	if got := valueAt(w.get(t, slicesPath+"/kubernetes").want(t, http.StatusOK).object(t),
		"addressType"); got != "none" {
		t.Errorf("the slice's addresses are of type %v, want none as it was", got)
	}
	w.create(t, slicesPath, slice("another"))
	undefine(t, w, "endpointslices.discovery.k8s.io")
	w.get(t, definitionsPath+"/endpointslices.discovery.k8s.io").want(t, http.StatusNotFound)
	if names := w.names(t, slicesPath); names != "" {
		t.Errorf("objects of the deleted definition are left: %s", names)
	}
	w.send(t, http.MethodPost, slicesPath, slice("another")).want(t, http.StatusUnprocessableEntity)
	w.create(t, slicesPath, strings.Replace(slice("another"), "none", "IPv4", 1))
	w = w.restart(t, journal)
	if names := w.names(t, slicesPath); names != "another" {
		t.Errorf("after another start: %q", names)
	}
}
