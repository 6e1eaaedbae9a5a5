package server_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// populatedJournal returns a journal with the state of a plane with objects of many kinds.
func populatedJournal(t *testing.T) *storetest.Journal {
	t.Helper()
	journal := storetest.NewJournal()
	plane, err := bowline.Start(t.Context(),
		bowline.Options{Controllers: []string{bowline.NoControllers}, Storage: journal.Open()})
	if err != nil {
		t.Fatal(err)
	}
	w := &testPlane{Plane: plane}
	w.connect(t, w.RESTConfig())
	w.namespace(t, "x")
	w.createConfigMaps(t, "x", "in-x")
	w.createConfigMaps(t, "default", "a", "b")
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("w", `{"color":"red","size":5}`))
	owner := w.create(t, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owner"}}`)
	w.create(t, configMaps,
		fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned","ownerReferences":`+
			`[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]}}`, valueAt(owner, "metadata", "uid")))
	w.create(t, "/api/v1/namespaces/default/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},`+
		`"spec":{"type":"NodePort","clusterIP":"10.0.0.77","ports":[{"port":80,"nodePort":30001}]}}`)
	w.create(t, "/api/v1/namespaces/default/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},`+
		`"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	w.create(t, "/apis/apps/v1/namespaces/default/deployments",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},`+
			`"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	if err := plane.Close(); err != nil {
		t.Fatal(err)
	}
	return journal
}

// verified returns what Verify reports for a log, after a change of the stored state: lines of key, problem
// and message.
func verified(t *testing.T, l log.Log, change func(s *store.Store)) []string {
	t.Helper()
	s, err := store.New(t.Context(), l, store.Options{AcceptDamage: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	change(s)
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(t.Context(), server.Options{
		Store: s, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...),
		Authenticator: auth.Anonymous(), Authorizer: auth.PublicPaths(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var lines []string
	for f, err := range srv.Verify(t.Context(), snapshot) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Key, f.Problem, f.Message))
	}
	return lines
}

// edit replaces a text in a stored object, bypassing the validation of the API.
func edit(t *testing.T, s *store.Store, key object.Key, old, new string) {
	t.Helper()
	o := s.Get(key)
	data := o.Stored().Bytes()
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s has no %s: %s", key, old, data)
	}
	encoding, err := object.NewEncoding(o.Form(), bytes.Replace(data, []byte(old), []byte(new), 1))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, store.Change{Key: key, Object: object.New(o.Header, nil, encoding)})
}

func put(t *testing.T, s *store.Store, changes ...store.Change) {
	t.Helper()
	if _, err := s.Commit(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyIntactStore(t *testing.T) {
	t.Parallel()
	if found := verified(t, populatedJournal(t).Open(), func(*store.Store) {}); len(found) > 0 {
		t.Errorf("found\n%s", strings.Join(found, "\n"))
	}
}

func TestVerifyReportsProblems(t *testing.T) {
	t.Parallel()
	const definition = "apiextensions.k8s.io/customresourcedefinitions//widgets.example.com"
	const address = "networking.k8s.io/ipaddresses//10.0.0.77"
	remove := func(key object.Key) func(*testing.T, *store.Store) {
		return func(t *testing.T, s *store.Store) { put(t, s, store.Change{Key: key}) }
	}
	replace := func(key object.Key, old, new string) func(*testing.T, *store.Store) {
		return func(t *testing.T, s *store.Store) { edit(t, s, key, old, new) }
	}
	for name, test := range map[string]struct {
		change func(*testing.T, *store.Store)
		want   []string
	}{
		"a namespace that is gone": {remove("/namespaces//x"),
			[]string{"/configmaps/x/in-x no-namespace: the namespace x does not exist"}},
		"an owner that is gone": {remove("/configmaps/default/owner"),
			[]string{"/configmaps/default/owned no-owner: its owner ConfigMap owner, with the uid "}},
		"a definition that is gone": {remove(definition), []string{
			"example.com/widgets/default/w no-definition: nothing defines widgets.example.com"}},
		"a version that is gone": {
			func(t *testing.T, s *store.Store) {
				w := s.Get("example.com/widgets/default/w")
				data := bytes.Replace(w.Stored().Bytes(), []byte("example.com/v1"), []byte("example.com/v0"), 1)
				encoding := must(object.NewEncoding(object.Form{APIVersion: "example.com/v0"}, data))(t)
				put(t, s, store.Change{Key: w.Key, Object: object.New(w.Header, nil, encoding)})
			},
			[]string{"example.com/widgets/default/w no-definition: it is stored in example.com/v0, which its definition does not have"}},
		"a claim that is gone": {remove(address), []string{
			"/services/default/s lost-claim: it uses 10.0.0.77 of serviceips without a claim"}},
		"a claim without its owner": {remove("/services/default/s"), []string{
			`claims.internal/nodeports//30001 lost-claim: its owner "default/s" does not exist`,
			`networking.k8s.io/ipaddresses//10.0.0.77 lost-claim: its owner "default/s" does not exist`}},
		"another's claim": {replace("claims.internal/nodeports//30001", "default/s", "default/t"), []string{
			`claims.internal/nodeports//30001 lost-claim: its claim is recorded for "default/t", but "default/s" uses the value`}},
		"another's address": {replace(address, "\x22\x01s", "\x22\x01t"), []string{
			`networking.k8s.io/ipaddresses//10.0.0.77 lost-claim: its claim is recorded for "default/t", but "default/s" uses the value`}},
		"a schema that is broken": {replace("example.com/widgets/default/w", `"size":5`, `"size":"s"`), []string{
			"example.com/widgets/default/w invalid: [spec.size: Invalid value"}},
		"a value that the schema does not know": {replace("example.com/widgets/default/w", `"red"`, `"green"`),
			[]string{
				"example.com/widgets/default/w invalid: spec.color: Unsupported value"}},
		"a rule that is broken": {replace("apps/deployments/default/d", `"a":"b"`, `"a":"!"`), []string{
			"apps/deployments/default/d invalid: "}},
		"another's name": {replace("/configmaps/default/a", "\x01a\x12", "\x01z\x12"), []string{
			`/configmaps/default/a inconsistent: its name is "z", and it is stored as "a"`}},
		"bytes that do not decode": {func(t *testing.T, s *store.Store) {
			encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"},
				[]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"0"},"data":7}`))
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, store.Change{Key: "/configmaps/default/a", Object: object.New(object.Header{
				Key: "/configmaps/default/a", UID: types.UID("u")}, nil, encoding)})
		}, []string{"/configmaps/default/a invalid: /configmaps/default/a at revision "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := verified(t, populatedJournal(t).Open(), func(s *store.Store) { test.change(t, s) })
			if !slices.EqualFunc(found, test.want, strings.HasPrefix) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// Verify reports damaged objects, but no problems of objects that refer to them.
func TestVerifyReportsDamageOnly(t *testing.T) {
	t.Parallel()
	lost := []object.Key{"/configmaps/default/owner", "/namespaces//x", "/services/default/s"}
	found := verified(t, &storetest.Damaged{Log: populatedJournal(t).Open(), Keys: lost}, func(*store.Store) {})
	want := []string{"/configmaps/default/owner damaged: ", "/namespaces//x damaged: ", "/services/default/s damaged: "}
	if !slices.EqualFunc(found, want, strings.HasPrefix) {
		t.Errorf("found\n%s", strings.Join(found, "\n"))
	}
}
