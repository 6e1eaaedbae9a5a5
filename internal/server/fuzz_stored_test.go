package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// FuzzStoredObjects starts a server on a store with any object of a built-in kind, as a tampered backup may have it.
// Verify reports what is wrong with it, and the server answers reads of it: the object, or why it cannot be read.
func FuzzStoredObjects(f *testing.F) {
	kinds := builtin.Kinds(object.NewCache(0))
	for i, k := range kinds {
		f.Add(uint8(i), `"spec":{"selector":null,"ports":[{}],"versions":[{"name":"v1"}]},"endpoints":[{}],"ports":[{}]`)
		f.Add(uint8(i), `"spec":{"conversion":{"strategy":"Webhook"},"template":null},"status":{"conditions":[null]}`)
		for _, body := range recordedObjects(f, k.Info().Kind) {
			f.Add(uint8(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, fields string) {
		k := kinds[int(which)%len(kinds)].Info()
		namespace := "default"
		if !k.Namespaced {
			namespace = ""
		}
		data := `{"kind":"` + k.Kind + `","apiVersion":"` + k.Endpoints[0].APIVersion() + `","metadata":{"name":"a","namespace":"` +
			namespace + `","uid":"u","resourceVersion":"` + object.RevisionPlaceholder + `"},` + fields + `}`
		if !json.Valid([]byte(data)) { // a backup with it is refused
			return
		}
		encoding, err := object.NewEncoding(object.Form{APIVersion: k.Endpoints[0].APIVersion()}, []byte(data))
		if err != nil {
			return
		}
		s, err := store.New(t.Context(), memory.New(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		key := object.KeyOf(k.GroupResource(), namespace, "a")
		put(t, s, store.Change{Key: key, Object: object.New(object.Header{Key: key, UID: "u"}, nil, encoding)})
		srv, err := server.New(t.Context(), server.Options{
			Store: s, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...),
			Authenticator: auth.InProcess(), Authorizer: auth.Admins(),
		})
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		defer srv.Close()
		snapshot, err := s.Snapshot(t.Context(), store.Latest())
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range srv.Verify(t.Context(), snapshot) {
			if err != nil {
				t.Errorf("%s: %v", data, err)
			}
		}
		path := "/apis/" + k.Endpoints[0].APIVersion() + "/" + k.Plural
		if k.Endpoints[0].Group == "" {
			path = "/api/v1/" + k.Plural
		}
		for _, accept := range []string{jsonType, tableType, yamlType, partialType} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r = r.WithContext(auth.WithUser(r.Context(), auth.NewUser("fuzz", auth.AdminGroup)))
			r.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			srv.Handler().ServeHTTP(w, r)
			if body := w.Body.String(); w.Code != http.StatusOK && strings.Contains(body, "panicked") {
				t.Errorf("%s as %s: %d %s", data, accept, w.Code, body)
			}
		}
	})
}

// recordedObjects returns what follows the metadata in the recorded bodies of a kind.
func recordedObjects(f *testing.F, kind string) (fields []string) {
	f.Helper()
	for _, file := range must(filepath.Glob("../golden/testdata/*.json"))(f) {
		var steps []struct{ Body *string }
		if err := json.Unmarshal(must(os.ReadFile(file))(f), &steps); err != nil {
			f.Fatal(err)
		}
		for _, s := range steps {
			var content map[string]any
			if s.Body == nil || len(*s.Body) > 2_000 || json.Unmarshal([]byte(*s.Body), &content) != nil || content["kind"] != kind {
				continue
			}
			delete(content, "kind")
			delete(content, "apiVersion")
			delete(content, "metadata")
			text := must(json.Marshal(content))(f)
			if len(text) > 2 && len(fields) < 5 {
				fields = append(fields, string(text[1:len(text)-1]))
			}
		}
	}
	return fields
}
