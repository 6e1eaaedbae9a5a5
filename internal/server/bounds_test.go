package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bound is a request that is designed to cost much, with the maximum of its cost. The times are ten times
// those of an idle machine.
type bound struct {
	what        string
	method      string
	path, body  string
	as          string
	code        int
	text        string // stands in the answer
	took        time.Duration
	allocations uint64 // MiB
}

// Requests that are designed to cost much are answered within seconds, most with a rejection, and allocate at
// most some copies of the largest body. The test is not parallel, so that it can measure allocations.
func TestBoundedTimeAndMemory(t *testing.T) {
	w := start(t)
	define(t, w, widgets())
	define(t, w, definitionOf(t, costlyDefinition))
	define(t, w, definitionOf(t, longDefault))
	w.create(t, deploymentsPath, deployment)
	w.createConfigMaps(t, "default", "a")
	for i := range 200 {
		w.createConfigMaps(t, "default", fmt.Sprintf("many-%d", i))
	}
	w.create(t, widgetsPath,
		widget("a", `{"free":{"list":[`+strings.TrimSuffix(strings.Repeat("1,", 50_000), ",")+`]}}`))
	for _, b := range slices.Concat(bounds(), expansions()) {
		t.Run(b.what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			started := time.Now()
			headers := []string{"Content-Type", jsonType}
			if b.as != "" {
				headers[1] = b.as
			}
			r := w.send(t, b.method, b.path, b.body, headers...)
			took := time.Since(started)
			runtime.ReadMemStats(&after)
			mib := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d in %v, %d MiB: %.300s", r.code, took.Round(time.Millisecond), mib, r.body)
			if r.code != b.code || !strings.Contains(string(r.body), b.text) {
				t.Errorf("%d %.500s, want %d with %q", r.code, r.body, b.code, b.text)
			}
			if took > b.took || mib > b.allocations {
				t.Errorf("it took %v (at most %v) and %d MiB (at most %d)", took, b.took, mib, b.allocations)
			}
		})
	}
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
}

// costlyDefinition has rules whose cost is quadratic in the length of their lists; Kubernetes estimates it as
// low, since the lists are declared as short.
var costlyDefinition = oneVersion("Cost", "costs", `
    schema:
      openAPIV3Schema:
        type: object
        properties:
          list: {type: array, maxItems: 250, items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(a, self.all(b, a + b > 0))"}]}
          text: {type: string, maxLength: 200000, x-kubernetes-validations: [{rule: "self.matches('^(a*)*b?$')"}]}
`)

const costsPath = "/apis/example.com/v1/namespaces/default/costs"

// cost is an instance of costlyDefinition.
func cost(name, fields string) string {
	return `{"apiVersion":"example.com/v1","kind":"Cost","metadata":{"name":"` + name + `"},` + fields + `}`
}

// crdOf is a definition of things with a schema.
func crdOf(schema string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
	  "names":{"kind":"Thing","plural":"things"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + schema + `}}]}}`
}

// nested returns text in n pairs of brackets.
func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func bounds() []bound {
	laughs := "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
	for i := 1; i < 10; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	const mega = 1 << 20
	selector := func(text string) string { return configMaps + "?labelSelector=" + url.QueryEscape(text) }
	return []bound{
		{"JSON nested deeper than JSON may be", "POST", configMaps, strings.Repeat(`{"a":`, mega/2), "", 400, "depth",
			2 * time.Second, 60},
		{"lists nested deeper", "POST", widgetsPath, strings.Repeat(`[`, 3*mega-1), "", 400, "depth", 2 * time.Second,
			60},
		{"a custom resource as deep as JSON may be", "POST", widgetsPath,
			widget("deep", `{"free":`+nested(`{"a":`, "1", "}", 9_900)+"}"), "", 201, "", 20 * time.Second, 500},
		{"its deletion", "DELETE", widgetsPath + "/deep", "", "", 200, "", 10 * time.Second, 200},
		{"YAML that names itself a billion times", "POST", configMaps, laughs, yamlType, 413, "the aliases of the YAML document", 5 * time.Second, 100},
		{"YAML nested", "POST", configMaps, strings.Repeat("[", 100_000), yamlType, 400, "", 10 * time.Second, 300},
		{"YAML nested by indentation", "POST", configMaps, func() string {
			var s strings.Builder
			s.WriteString("metadata: {name: indented}\n")
			for i := range 1500 {
				s.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return s.String()
		}(), yamlType, 201, "", 10 * time.Second, 300},
		{"a label selector of 20,000 values", "GET",
			selector("a in (" + strings.TrimSuffix(strings.Repeat("abcdefgh,", 20_000), ",") + ")"), "", "", 200, "",
			5 * time.Second, 100},
		{"a label selector of 20,000 requirements", "GET",
			selector(strings.TrimSuffix(strings.Repeat("a!=b,", 20_000), ",")), "", "", 200, "", 5 * time.Second, 200},
		{"a field selector of 20,000 requirements", "GET",
			configMaps + "?fieldSelector=" + strings.TrimSuffix(strings.Repeat("metadata.name!=b,", 20_000), ","), "",
			"", 200, "", 5 * time.Second, 200},
		{"a selector of a megabyte of brackets", "GET", selector("a in " + strings.Repeat("(", 200_000)), "", "", 400,
			"", 5 * time.Second, 100},

		{"rules that cost nearly what their estimate may", "POST", costsPath,
			cost("costs", `"list":[1`+strings.Repeat(",1", 249)+`]`), "", 201, "", 20 * time.Second, 200},
		{"a regular expression that explodes elsewhere", "POST", costsPath,
			cost("explodes", `"text":"`+strings.Repeat("a", 199_999)+`c"`), "", 422, "", 10 * time.Second, 100},
		{"rules that cost too much by their estimate", "POST", definitionsPath,
			crdOf(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, self.all(c, a + b > c)))"}]}}}`), "", 422, "exceeds budget by factor of more than 100x", 5 * time.Second, 100},
		{"a pattern of a million states", "POST", definitionsPath,
			crdOf(`{"type":"object","properties":{"text":{"type":"string","pattern":"((a{1000}){1000}){1000}"}}}`), "",
			422, "must be a valid regular expression", 5 * time.Second, 100},
		{"a schema that refers to itself", "POST", definitionsPath,
			crdOf(`{"type":"object","properties":{"self":{"$ref":"#"}}}`), "", 422, "$ref", 5 * time.Second, 50},
		{"schemas that refer to each other", "POST", definitionsPath,
			crdOf(`{"type":"object","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`), "", 422, "$ref", 5 * time.Second, 50},
		{"a schema of a thousand levels", "POST", definitionsPath,
			crdOf(nested(`{"type":"object","properties":{"a":`, `{"type":"string"}`, "}}", 1000)), "", 201, "",
			20 * time.Second, 500},
		{"its deletion", "DELETE", definitionsPath + "/things.example.com", "", "", 200, "", 10 * time.Second, 500},
		{"a schema of 4,900 levels", "POST", definitionsPath,
			crdOf(nested(`{"type":"object","properties":{"a":`, `{"type":"string"}`, "}}", 4_900)), "", 201, "",
			30 * time.Second, 2000},
		{"its deletion", "DELETE", definitionsPath + "/things.example.com", "", "", 200, "", 10 * time.Second, 500},

		{"ten thousand and one operations", "PATCH", configMaps + "/a",
			"[" + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`,
				10_000) + `{"op":"test","path":"/kind","value":"ConfigMap"}]`, jsonPatchType, 413, "10000",
			5 * time.Second, 50},
		{"ten thousand copies", "PATCH", widgetsPath + "/a",
			"[" + strings.TrimSuffix(strings.Repeat(`{"op":"copy","from":"/spec/free","path":"/spec/free/more"},`,
				10_000), ",") + "]", jsonPatchType, 422, "", 20 * time.Second, 1500},
		{"ten thousand tests of a large value", "PATCH", widgetsPath + "/a",
			"[" + strings.TrimSuffix(strings.Repeat(`{"op":"test","path":"/spec/free/list","value":[1]},`, 10_000),
				",") + "]", jsonPatchType, 422, "", 20 * time.Second, 1500},
		{"ten thousand items added before 50,000", "PATCH", widgetsPath + "/a",
			"[" + strings.TrimSuffix(strings.Repeat(`{"op":"add","path":"/spec/free/list/0","value":1},`, 10_000),
				",") + "]", jsonPatchType, 422, "", 5 * time.Second, 50},
		{"a thousand items added before 50,000", "PATCH", widgetsPath + "/a",
			"[" + strings.TrimSuffix(strings.Repeat(`{"op":"add","path":"/spec/free/list/0","value":1},`, 1_000),
				",") + "]", jsonPatchType, 200, "", 20 * time.Second, 1500},
		{"an object that grows beyond the limit", "PATCH", widgetsPath + "/a",
			`{"spec":{"free":{"text1":"` + strings.Repeat("x", 2*mega) + `"}}}`, mergeType, 200, "", 10 * time.Second,
			200},
		{"and again", "PATCH", widgetsPath + "/a", `{"spec":{"free":{"text2":"` + strings.Repeat("x", 2*mega) + `"}}}`,
			mergeType, 413, "3145728", 10 * time.Second, 200},
	}
}

// The result of rules that were interrupted is not an answer.
func TestDeadlineInterruptsValidationRules(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, definitionOf(t, costlyDefinition))
	w.create(t, costsPath, cost("cheap", `"list":[1]`))
	list := `"list":[1` + strings.Repeat(",1", 249) + `]` // 62,500 steps, which take three times as long at least
	w.send(t, http.MethodPost, costsPath+"?timeout=15ms", cost("costly", list)).wantError(t, http.StatusGatewayTimeout,
		metav1.StatusReasonTimeout, "")
	if r := w.get(t, costsPath+"/costly"); r.code != http.StatusNotFound {
		t.Errorf("%d %s", r.code, r.body)
	}
}
