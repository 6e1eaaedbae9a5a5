package attacks

import (
	"fmt"
	"strings"
)

// Paths of resources.
const (
	configMaps  = "/api/v1/namespaces/default/configmaps"
	pods        = "/api/v1/namespaces/default/pods"
	services    = "/api/v1/namespaces/default/services"
	secrets     = "/api/v1/namespaces/default/secrets"
	namespaces  = "/api/v1/namespaces"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	things      = "/apis/example.com/v1/namespaces/default/things"
)

const (
	kilo = 1 << 10
	mega = 1 << 20
)

// tooMany is in the answers to bodies with too many values.
const tooMany = "limit is 100000 values"

// tooManyFields is in the answers to bodies with too many fields in one object.
const tooManyFields = "limit is 20000 fields of an object"

// repeated returns a text n times, separated by commas.
func repeated(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

// numbered returns a format n times with its number, separated by commas.
func numbered(format string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

// nested returns text in n pairs of brackets.
func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// configMap is a ConfigMap with additional fields.
func configMap(name, fields string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}` + fields + `}`
}

// define creates the definition of things with a schema.
func define(schema string) []request { return post(definitions, definition(schema)) }

// definition is the definition of things with a schema.
func definition(schema string) string {
	return definitionWith(`"schema":{"openAPIV3Schema":` + schema + `}`)
}

// definitionWith is the definition of things whose version has fields.
func definitionWith(version string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},` +
		`"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Thing","plural":"things"},` +
		`"versions":[{"name":"v1","served":true,"storage":true,` + version + `}]}}`
}

// free is a schema that allows everything.
const free = `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`

// property is a schema with one property named a.
func property(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }

// thing is a custom resource with additional fields.
func thing(name, fields string) string {
	return `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"` + name + `"},` + fields + `}`
}

// deployment is a Deployment named d without replicas, whose container is named c.
const deployment = `{"metadata":{"name":"d"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// ofContainer is a strategic merge patch of the container of deployment.
func ofContainer(fields string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"c",` + fields + `}]}}}}`
}

// ofPod returns a patch of the pod template of deployment.
func ofPod(fields string) string { return `{"spec":{"template":{"spec":{` + fields + `}}}}` }
