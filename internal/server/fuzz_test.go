package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// bodyTargets are the paths that bodies are sent to, by index.
var bodyTargets = []struct{ method, path, contentType string }{
	{http.MethodPost, configMaps, jsonType},
	{http.MethodPost, configMaps, yamlType},
	{http.MethodPost, configMaps, protobufType},
	{http.MethodPut, configMaps + "/a", jsonType},
	{http.MethodPatch, configMaps + "/a", mergeType},
	{http.MethodPatch, configMaps + "/a", jsonPatchType},
	{http.MethodPatch, configMaps + "/a", strategicType},
	{http.MethodPost, widgetsPath, jsonType},
	{http.MethodPost, widgetsPath, yamlType},
	{http.MethodPatch, widgetsPath + "/a", mergeType},
	{http.MethodPatch, widgetsPath + "/a", jsonPatchType},
	{http.MethodPatch, widgetsPath + "/a/scale", mergeType},
	{http.MethodPost, "/api/v1/namespaces/default/pods", jsonType},
	{http.MethodPost, "/api/v1/namespaces/default/pods", protobufType},
	{http.MethodPatch, "/api/v1/namespaces/default/pods/a", strategicType},
	{http.MethodPatch, "/apis/apps/v1/namespaces/default/deployments/a", strategicType},
	{http.MethodPut, "/apis/apps/v1/namespaces/default/deployments/a/scale", protobufType},
	{http.MethodPost, "/api/v1/namespaces/default/services", yamlType},
	{http.MethodPatch, "/api/v1/namespaces/default/services/a", mergeType},
	{http.MethodPost, definitionsPath, jsonType},
	{http.MethodPost, strings.Replace(definitionsPath, "v1", "v1beta1", 1), yamlType},
	{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events", jsonType},
	{http.MethodDelete, configMaps + "/nothing", jsonType}, // options in the body rule out those of the query
	{http.MethodDelete, configMaps + "/nothing", protobufType},
	{http.MethodPost, "/api/v1/namespaces/default/pods/a/binding", jsonType},
	{http.MethodPost, "/apis/apps/v1/namespaces/default/deployments", jsonType},
	{http.MethodPost, "/apis/apps/v1/namespaces/default/replicasets", yamlType},
	{http.MethodPost, "/api/v1/namespaces/default/secrets", jsonType},
	{http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", jsonType},
	{http.MethodPost, "/api/v1/nodes", jsonType},
	{http.MethodPost, "/apis/coordination.k8s.io/v1/namespaces/default/leases", jsonType},
	{http.MethodPost, "/api/v1/namespaces/default/endpoints", yamlType},
	{http.MethodPost, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", jsonType},
	{http.MethodPost, "/apis/networking.k8s.io/v1/namespaces/default/ingresses", jsonType},
	{http.MethodPost, "/apis/networking.k8s.io/v1/ingressclasses", yamlType},
}

// FuzzRequestBodies sends bodies in all formats to various endpoints. The server answers each, and survives.
func FuzzRequestBodies(f *testing.F) {
	g := fuzzTarget(f)
	seedBodies(f)
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		c := bodyTargets[int(which)%len(bodyTargets)]
		g.ask(t, c.method, &url.URL{Path: c.path, RawQuery: "dryRun=All"}, c.contentType, body)
		g.alive(t)
	})
}

// FuzzCreatedObjects creates objects. An accepted object can be read in every form, and writing it back
// changes nothing.
func FuzzCreatedObjects(f *testing.F) {
	g := fuzzTarget(f)
	seedBodies(f)
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		c := bodyTargets[int(which)%len(bodyTargets)]
		if c.method != http.MethodPost || strings.HasSuffix(c.path, "/binding") {
			return // no create
		}
		r := g.ask(t, c.method, &url.URL{Path: c.path}, c.contentType, body)
		if r.code != http.StatusCreated {
			return
		}
		created := response{body: r.body.Bytes()}.object(t)
		name, _ := valueAt(created, "metadata", "name").(string)
		path := &url.URL{Path: c.path + "/" + name}
		defer g.discard(t, path)
		var forms []string
		if !strings.HasPrefix(c.path, widgetsPath) {
			forms = append(forms, protobufType)
		}
		for _, accept := range append(forms, yamlType, tableType, partialType) {
			if shown := g.get(t, path.String(), "Accept", accept); shown.code != http.StatusOK {
				t.Errorf("%s %q as %s: %d %s", c.path, body, accept, shown.code, shown.body)
			}
		}
		read := g.get(t, path.String())
		back := g.ask(t, http.MethodPut, path, jsonType, read.body)
		if back.code != http.StatusOK || back.body.String() != string(read.body) {
			t.Errorf("%s %q: written back: %d\n%s\nwas\n%s", c.path, body, back.code, back.body.String(), read.body)
		}
	})
}

// discard deletes an object, and its finalizers.
func (g *target) discard(t *testing.T, path *url.URL) {
	t.Helper()
	g.ask(t, http.MethodPatch, path, mergeType, []byte(`{"metadata":{"finalizers":null}}`))
	g.ask(t, http.MethodDelete, path, jsonType, []byte(`{"gracePeriodSeconds":0}`))
	if r := g.ask(t, http.MethodGet, path, "", nil); r.code != http.StatusNotFound {
		t.Errorf("%s is still there: %d %s", path, r.code, r.body.String())
	}
}

// seedBodies adds the bodies of all recordings, and the formats that they lack.
func seedBodies(f *testing.F) {
	f.Helper()
	files := must(filepath.Glob("../golden/testdata/*.json"))(f)
	for _, file := range files {
		var steps []struct {
			Body         *string
			Method, Path string
		}
		if err := json.Unmarshal(must(os.ReadFile(file))(f), &steps); err != nil {
			f.Fatal(err)
		}
		for i, s := range steps {
			if s.Body != nil {
				f.Add(uint8(i), []byte(*s.Body))
				f.Add(targetOf(s.Method, s.Path), []byte(*s.Body))
			}
		}
	}
	f.Add(targetOf(http.MethodPost, widgetsPath),
		[]byte(widget("z", `{"color":"red","size":3,"free":{"a":[{"b":null},1.5,"x"]}}`)))
	cm := configMap("z", "k", "1")
	cm.APIVersion, cm.Kind = "v1", "ConfigMap"
	for i, c := range bodyTargets {
		switch c.contentType {
		case protobufType:
			f.Add(uint8(i), protobuf(f, cm))
		case yamlType:
			f.Add(uint8(i), []byte(widgetDefinition))
			f.Add(uint8(i), []byte("a: &a [1]\nb: *a\n<<: {c: 1}\n"))
		default:
			f.Add(uint8(i), []byte(`{"metadata":{"name":"z","namespace":"default"},"spec":{"replicas":2}}`))
			f.Add(uint8(i), []byte(`[{"op":"copy","from":"/metadata","path":"/data/x"}]`))
		}
	}
}

// targetOf returns the index of a recorded body's path, or 0.
func targetOf(method, path string) uint8 {
	path, _, _ = strings.Cut(path, "?")
	for i, c := range bodyTargets {
		if c.method == method && strings.HasSuffix(c.path, path[strings.LastIndex(path, "/"):]) {
			return uint8(i)
		}
	}
	return 0
}

// FuzzSelectors lists with random selectors. A valid one selects the same objects as in the test.
func FuzzSelectors(f *testing.F) {
	g := fuzzTarget(f)
	for _, label := range []string{"", "app=web", "app!=web", "app in (web,db)", "app notin (web),!tier", "tier",
		"a/b=c", "app in (", ",", "=", "app=web,app=db", "x in ()", "app>1"} {
		for _, field := range []string{"", "metadata.name=a", "metadata.name!=a", "metadata.namespace=default",
			"metadata.name=a,metadata.name=b", `metadata.name=a\,b`, "a=", "=", "metadata.name==a", "data.k=1"} {
			f.Add(label, field)
		}
	}
	f.Fuzz(func(t *testing.T, label, field string) {
		q := url.Values{"labelSelector": {label}, "fieldSelector": {field}}
		r := g.ask(t, http.MethodGet, &url.URL{Path: configMaps, RawQuery: q.Encode()}, "", nil)
		byLabel, labelErr := labels.Parse(label)
		byField, fieldErr := fields.ParseSelector(field)
		if labelErr != nil || fieldErr != nil {
			if r.code != http.StatusBadRequest {
				t.Errorf("%q and %q: %d", label, field, r.code)
			}
			return
		}
		if r.code == http.StatusBadRequest {
			return // a field that is not selectable
		}
		var got, all metav1.PartialObjectMetadataList
		response{body: r.body.Bytes()}.into(t, &got)
		response{body: g.ask(t, http.MethodGet, &url.URL{Path: configMaps}, "", nil).body.Bytes()}.into(t, &all)
		var want []string
		for _, item := range all.Items {
			if byLabel.Matches(labels.Set(item.Labels)) &&
				byField.Matches(fields.Set{"metadata.name": item.Name, "metadata.namespace": item.Namespace}) {
				want = append(want, item.Name)
			}
		}
		var names []string
		for _, item := range got.Items {
			names = append(names, item.Name)
		}
		if strings.Join(names, " ") != strings.Join(want, " ") {
			t.Errorf("%q and %q select %v, want %v", label, field, names, want)
		}
	})
}

// FuzzContinueTokens lists with random tokens. A token is rejected, is expired, or returns a part of the list.
func FuzzContinueTokens(f *testing.F) {
	g := fuzzTarget(f)
	first := g.get(f, configMaps+"?limit=1").object(f)
	f.Add(valueAt(first, "metadata", "continue").(string), int64(1))
	for _, token := range []string{
		"", "x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiIvZGVmYXVsdC9hIn0",
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vc2VjcmV0cyJ9", "bnVsbA", "W10", "e30",
	} {
		f.Add(token, int64(0))
		f.Add(token, int64(-1))
	}
	f.Fuzz(func(t *testing.T, token string, limit int64) {
		q := url.Values{"continue": {token}, "limit": {strconv.FormatInt(limit, 10)}}
		r := g.ask(t, http.MethodGet, &url.URL{Path: configMaps, RawQuery: q.Encode()}, "", nil)
		switch r.code {
		case http.StatusBadRequest, http.StatusGone, http.StatusGatewayTimeout, http.StatusUnprocessableEntity:
			return
		case http.StatusOK:
		default:
			t.Fatalf("%q: %d %s", token, r.code, r.body.String())
		}
		var list struct {
			Items []struct{ Metadata metav1.ObjectMeta }
		}
		response{body: r.body.Bytes()}.into(t, &list)
		if limit > 0 && int64(len(list.Items)) > limit || len(list.Items) > 3 {
			t.Errorf("%q: %d items", token, len(list.Items))
		}
		for _, item := range list.Items {
			if item.Metadata.Namespace != "default" {
				t.Errorf("%q shows %s of namespace %s", token, item.Metadata.Name, item.Metadata.Namespace)
			}
		}
	})
}

// FuzzURLs requests random paths, queries and methods. Each request is answered.
func FuzzURLs(f *testing.F) {
	g := fuzzTarget(f)
	for _, path := range []string{
		"/", "", "//", "/api", "/api/v1", "/api/v1/", configMaps, configMaps + "/a", configMaps + "/a/status",
		"/api/v1/watch/namespaces/default/configmaps/a",
		"/apis/example.com/v1/widgets", widgetsPath + "/a/scale",
		"/apis/apps/v1/namespaces/default/deployments/a/scale", "/openapi/v3", "/openapi/v3/api/v1",
		"/version", "/metrics", "/livez", "/api/v1/namespaces/default/finalize", "/api/v1/namespaces//configmaps",
		"/apis//v1/x", "/api/v1/namespaces/../configmaps",
		"/api/v1/namespaces/default/configmaps/a%2Fb", "/api/v1/watch", "/api/v1/watch/", "/apis/example.com/v1",
		"/api/v1/namespaces/default/pods/a/log",
	} {
		for i, query := range []string{"", "watch=true", "limit=1&resourceVersion=0", "timeout=1s&pretty=true",
			"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "resourceVersion=-1", "%zz",
			"labelSelector=%00"} {
			f.Add(uint8(i), path, query)
		}
	}
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodHead, http.MethodOptions, "BREW"}
	f.Fuzz(func(t *testing.T, method uint8, path, query string) {
		if strings.HasPrefix(path, "/debug/pprof") {
			return // a profile takes its time
		}
		m := methods[int(method)%len(methods)]
		if m != http.MethodGet && m != http.MethodHead {
			query += "&dryRun=All"
		}
		body := []byte(`{}`)
		if m == http.MethodDelete {
			body = nil
		}
		g.ask(t, m, &url.URL{Path: path, RawQuery: query}, jsonType, body)
		g.alive(t)
	})
}
