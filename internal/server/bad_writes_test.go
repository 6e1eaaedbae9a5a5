package server_test

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applied is a server-side apply that is refused.
func applied(path, body string, code int, reason metav1.StatusReason) badRequest {
	return badRequest{what: "PATCH " + path, body: body, as: applyType, code: code, reason: reason}
}

// badApplies cannot be applied, or conflict with another manager. The source is the recording apply.json and
// k8s.io/apiserver, pkg/endpoints/handlers/patch.go, with k8s.io/apimachinery, pkg/util/managedfields.
var badApplies = []badRequest{
	applied(configMaps+"/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, 422, invalidReason),
	applied(configMaps+"/a?fieldManager=m", `{`, 400, badRequestReason),
	applied(configMaps+"/a?fieldManager=m", `[]`, 400, badRequestReason),
	applied(configMaps+"/a?fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`, 400,
		badRequestReason),
	applied(configMaps+"/a?fieldManager=m", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, 400,
		badRequestReason),
	applied(configMaps+"/a?fieldManager=m", `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"a"}}`, 400,
		badRequestReason),
	applied(configMaps+"/a?fieldManager=m",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`, 400,
		badRequestReason),
	applied(configMaps+"/a?fieldManager=m",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"1"}}`, 409,
		metav1.StatusReasonConflict),
	applied(configMaps+"/a?fieldManager=m",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"owned":"2"}}`, 409,
		metav1.StatusReasonConflict),
	applied(configMaps+"/a?fieldManager=m&fieldValidation=Strict",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"dataa":{}}`, 500, ""),
	applied(configMaps+"/a?fieldManager="+strings.Repeat("m", 129),
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, 422, invalidReason),
	applied(configMaps+"/a?fieldManager=a%00b", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, 422,
		invalidReason),
	applied(configMaps+"/NotAName?fieldManager=m",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NotAName"}}`, 422, invalidReason),
	applied("/api/v1/namespaces/nowhere/configmaps/a?fieldManager=m",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, 404, metav1.StatusReasonNotFound),
	applied(deployments+"/b?fieldManager=m",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"},"spec":{"template":{"spec":{"containers":[{"image":"i"}]}}}}`, 422, invalidReason),
	applied(deployments+"/b?fieldManager=m",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"},"spec":{"template":{"spec":{"containers":[{"name":"c"},{"name":"c"}]}}}}`, 500, ""),
	applied(deployments+"/b?fieldManager=m",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"},"spec":{"replicas":"many"}}`, 500, ""),
	applied(widgetsPath+"/a?fieldManager=m",
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":99}}`, 409,
		metav1.StatusReasonConflict),
	applied(widgetsPath+"/b?fieldManager=m",
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"size":99}}`, 422,
		invalidReason),
}

// badOptions are invalid options of writes. The source is k8s.io/apimachinery,
// pkg/apis/meta/v1/validation/validation.go.
var badOptions = []badRequest{
	{what: "POST " + configMaps + "?fieldManager=" + strings.Repeat("m", 129), body: `{"metadata":{"name":"x"}}`,
		code: 422, reason: invalidReason},
	{what: "POST " + configMaps + "?fieldManager=a%0Ab", body: `{"metadata":{"name":"x"}}`, code: 422,
		reason: invalidReason},
	{what: "PUT " + configMaps + "/a?dryRun=Most", body: `{"metadata":{"name":"a"}}`, code: 422, reason: invalidReason},
	{what: "PUT " + configMaps + "/a?fieldValidation=Loose", body: `{"metadata":{"name":"a"}}`, code: 422,
		reason: invalidReason},
	{what: "PATCH " + configMaps + "/a?dryRun=Most", as: mergeType, body: `{}`, code: 422, reason: invalidReason},
	{what: "PATCH " + configMaps + "/a?fieldValidation=Loose", as: mergeType, body: `{}`, code: 422,
		reason: invalidReason},
	{what: "DELETE " + configMaps + "/a?propagationPolicy=Upwards", code: 422, reason: invalidReason},
	{what: "DELETE " + configMaps + "/a?gracePeriodSeconds=soon", code: 400, reason: badRequestReason},
	{what: "DELETE " + configMaps + "?propagationPolicy=Upwards", code: 422, reason: invalidReason},
	{what: "DELETE " + configMaps + "?limit=many", code: 400, reason: badRequestReason},
	{what: "DELETE " + configMaps + "/a", body: `{"kind":"Pod","apiVersion":"v1"}`, code: 400,
		reason: badRequestReason},
	{what: "DELETE " + configMaps + "/a", body: `{"gracePeriodSeconds":"x"}`, code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?timeoutSeconds=soon", code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact", code: 422,
		reason: invalidReason},
	{what: "GET " + configMaps + "?continue=x&resourceVersion=5", code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?continue=x&resourceVersionMatch=Exact&resourceVersion=5", code: 422,
		reason: invalidReason},
}

// ruledDefinition has a rule with each reason.
var ruledDefinition = oneVersion("Ruled", "ruleds", `
    subresources: {status: {}, scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              "n": {type: integer}
              s: {type: string, maxLength: 5}
              list: {type: array, maxItems: 2, items: {type: string, maxLength: 5}, x-kubernetes-list-type: set}
              ports: {type: array, maxItems: 3, items: {type: object, required: [name], properties: {name: {type: string, maxLength: 5}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}
              pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              either: {x-kubernetes-int-or-string: true}
              map: {type: object, maxProperties: 1, additionalProperties: {type: string, maxLength: 5}}
            x-kubernetes-validations:
            - {rule: "!has(self.n) || self.n > 0", message: n must be positive}
            - {rule: "!has(self.n) || self.n < 100", messageExpression: "self.n > 1000 ? 'n is far too large' : 'n is too large'", reason: FieldValueForbidden, fieldPath: .n}
            - {rule: "!has(self.s) || self.s != 'none' || has(self.n)", message: none needs n, reason: FieldValueRequired, fieldPath: .n}
            - {rule: "!has(self.s) || self.s != 'twice'", reason: FieldValueDuplicate, fieldPath: .s}
            - {rule: "self.n >= oldSelf.n", message: n grows}
            - {rule: "!has(self.s) || self.s != 'div' || 1 / (self.n - 1) > 0"}
          status:
            type: object
            properties:
              "n": {type: integer}
            x-kubernetes-validations:
            - {rule: "self.n >= 0", message: n is not negative}
`)

const ruledPath = "/apis/example.com/v1/namespaces/default/ruleds"

func ruledWith(name, fields string) string {
	return `{"apiVersion":"example.com/v1","kind":"Ruled","metadata":{"name":"` + name + `"},"spec":{` + fields + `}}`
}

// instance is a create of an instance that is refused.
func instance(fields string) badRequest {
	return badRequest{what: "POST " + ruledPath, body: ruledWith("x", fields), code: http.StatusUnprocessableEntity,
		reason: invalidReason}
}

// badInstances are custom resources that violate their schema or its rules. The source is the recording
// crd.json, k8s.io/kube-openapi, pkg/validation, and k8s.io/apiextensions-apiserver,
// pkg/registry/customresource and pkg/apiserver/schema/cel/validation.go.
var badInstances = []badRequest{
	instance(`"n":0`), instance(`"n":100`), instance(`"s":"none"`), instance(`"n":1,"s":"twice"`),
	instance(`"n":1,"s":"div"`), instance(`"n":"x"`), instance(`"n":0,"s":"too long"`),
	instance(`"list":["a","a"]`), instance(`"list":["a","b","c"]`), instance(`"ports":[{"name":"a"},{"name":"a"}]`),
	instance(`"ports":[{}]`), instance(`"pod":{}`),
	instance(`"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"Not_A_Name","labels":{"a b":"c"}}}`),
	instance(`"either":1.5`), instance(`"map":{"a":"b","c":"d"}`), instance(`"n":2147483648`),
	{what: "PATCH " + ruledPath + "/a", as: mergeType, body: `{"spec":{"n":0}}`, code: 422, reason: invalidReason},
	{what: "PATCH " + ruledPath + "/a/status", as: mergeType, body: `{"status":{"n":-1}}`, code: 422,
		reason: invalidReason},
	{what: "PATCH " + ruledPath + "/a/scale", as: mergeType, body: `{"spec":{"replicas":200}}`, code: 422,
		reason: invalidReason},
	{what: "PATCH " + ruledPath + "/a/scale", as: mergeType, body: `{"spec":{"replicas":"x"}}`, code: 422,
		reason: invalidReason},
	{what: "PUT " + ruledPath + "/a", body: ruledWith("a", `"n":5`), code: 422, reason: invalidReason},
	{what: "POST " + ruledPath + "/a/status", body: `{}`, code: 405, reason: metav1.StatusReasonMethodNotAllowed},
	{what: "DELETE " + ruledPath + "/a/status", code: 405, reason: metav1.StatusReasonMethodNotAllowed},
	{what: "GET " + ruledPath + "/a/log", code: 404, reason: metav1.StatusReasonNotFound},
	{what: "POST " + ruledPath, body: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"}}`,
		code: 422, reason: invalidReason},
	{what: "POST " + ruledPath, body: `{"apiVersion":"example.com/v2","kind":"Ruled","metadata":{"name":"x"}}`,
		code: 400, reason: badRequestReason},
	{what: "POST " + ruledPath, body: `{"apiVersion":"example.com/v1","kind":"Ruled","metadata":"x"}`, code: 400,
		reason: badRequestReason},
}
