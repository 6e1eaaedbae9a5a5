package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
