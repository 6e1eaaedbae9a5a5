package server_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// established is the status of a definition that the server serves.
const established = `"status":{"acceptedNames":{"plural":"p","kind":"P"},"conditions":[` +
	`{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}],"storedVersions":["v1"]}`

// tampered are objects that validation rejects, by their keys, as a tampered backup may contain them.
var tampered = map[object.Key]string{
	"apps/deployments/default/no-selector": `{"kind":"Deployment","apiVersion":"apps/v1",META,"spec":{"template":{}}}`,
	"discovery.k8s.io/endpointslices/default/no-name": `{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1",META,` +
		`"addressType":"IPv4","endpoints":[],"ports":[{}]}`,
	"apiextensions.k8s.io/customresourcedefinitions//things.example.com": `{"kind":"CustomResourceDefinition",` +
		`"apiVersion":"apiextensions.k8s.io/v1",META,"spec":{"group":"example.com","scope":"Namespaced",` +
		`"names":{"plural":"things","kind":"Thing"},"conversion":{"strategy":"Webhook"},` +
		`"versions":[{"name":"v1","served":true,"storage":true}]},` + established + `}`,
	"apiextensions.k8s.io/customresourcedefinitions//secrets.": `{"kind":"CustomResourceDefinition",` +
		`"apiVersion":"apiextensions.k8s.io/v1",META,"spec":{"group":"","scope":"Namespaced",` +
		`"names":{"plural":"secrets","kind":"Secret"},"versions":[{"name":"v1","served":true,"storage":true}]},` +
		established + `}`,
}

// addTampered stores the tampered objects.
func addTampered(t *testing.T, s *store.Store) {
	t.Helper()
	for key, data := range tampered {
		meta := `"metadata":{"name":"` + key.Name() + `","namespace":"` + key.Namespace() + `","uid":"u-` + key.Name() +
			`","resourceVersion":"` + object.RevisionPlaceholder + `"}`
		version := "v1"
		if group := key.GroupResource().Group; group != "" {
			version = group + "/v1"
		}
		encoding, err := object.NewEncoding(object.Form{APIVersion: version}, []byte(strings.Replace(data, "META", meta, 1)))
		if err != nil {
			t.Fatal(err)
		}
		header := object.Header{Key: key, UID: types.UID("u-" + key.Name())}
		put(t, s, store.Change{Key: key, Object: object.New(header, nil, encoding)})
	}
}

// Rules rely on defaults that a tampered object lacks. Verify reports the object and continues.
func TestVerifyReportsTamperedObjects(t *testing.T) {
	t.Parallel()
	found := verified(t, populatedJournal(t).Open(), func(s *store.Store) { addTampered(t, s) })
	for key := range tampered {
		if !strings.Contains(strings.Join(found, "\n"), string(key)+" invalid: ") {
			t.Errorf("%s is not reported as invalid:\n%s", key, strings.Join(found, "\n"))
		}
	}
}

// A plane starts without the definitions that validation would have rejected, and serves everything else.
func TestStartWithTamperedDefinitions(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	s, err := store.New(t.Context(), journal.Open(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	addTampered(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(o *bowline.Options) { o.Storage = journal.Open() })
	w.create(t, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"},"stringData":{"a":"b"}}`)
	w.get(t, "/apis/example.com/v1/namespaces/default/things").want(t, 404)
}
