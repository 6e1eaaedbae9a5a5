package main

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var hitches = schema.GroupVersionResource{Group: "bench.bowline.example.com", Version: "v1", Resource: "hitches"}

// createsOfCustomResources creates objects of a schema with 40 fields and 3 CEL rules.
func createsOfCustomResources(clients, count int, target float64) measurement {
	return rate("create custom resource, 40 fields, 3 rules, "+by(clients), fmt.Sprintf("create-custom-%d", clients),
		clients, count, target, prepareHitches)
}

// prepareHitches creates the definition, and returns the work that creates an object.
func prepareHitches(ctx context.Context, s *server, namespace string) (func(i int) error, error) {
	definitions, err := apiextensions.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	crds := definitions.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Create(ctx, hitchDefinition(), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	s.cleanup = append(s.cleanup, func(ctx context.Context) error {
		return crds.Delete(ctx, hitchDefinition().Name, metav1.DeleteOptions{})
	})
	resource := client.Resource(hitches).Namespace(namespace)
	create := func(i int) error {
		_, err := resource.Create(ctx, hitch(i), metav1.CreateOptions{})
		return err
	}
	return create, createFirst(ctx, resource, hitch(-1))
}

// listCustomResources writes custom resources and lists them as JSON, the form in which they are stored.
func listCustomResources() measurement {
	return measurement{
		figures: []figure{{"list 10,000 custom resources", milliseconds, 60}},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			create, err := prepareHitches(ctx, s, namespace)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, 16, listed, create); err != nil {
				return nil, err
			}
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			path := "/apis/" + hitches.GroupVersion().String() + "/namespaces/" + namespace + "/" + hitches.Resource
			took, err := timeList(ctx, s, "list-custom", 1, repeats, listed*1_000, func() *rest.Request {
				return client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json")
			})
			return []reading{took}, err
		}),
	}
}

// hitch returns an object with the 36 fields of the schema that have no default.
func hitch(i int) *unstructured.Unstructured {
	spec := map[string]any{
		"port": int64(80), "since": "2026-01-02T03:04:05Z", "cidr": "192.168.0.0/16", "gateway": "192.168.0.1",
		"labels": map[string]any{"app": "a", "tier": "front"}, "tags": []any{"a", "b", "c"},
		"ports": []any{map[string]any{"name": "http", "port": int64(80)},
			map[string]any{"name": "ssh", "port": int64(22)}},
	}
	for n := range 12 {
		spec[fmt.Sprintf("text%d", n)] = "some text that is not very long"
	}
	for n := range 6 {
		spec[fmt.Sprintf("name%d", n)] = "a-name"
		spec[fmt.Sprintf("count%d", n)] = int64(n)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bench.bowline.example.com/v1", "kind": "Hitch",
		"metadata": map[string]any{"name": fmt.Sprintf("bench-%06d", i)}, "spec": spec,
	}}
}

// hitchDefinition returns a definition with 40 fields: strings with a maximum length or a pattern, bounded
// numbers, enumerations and booleans with defaults, a port, a time, a map, a set, a list with a key; and
// three rules.
func hitchDefinition() *apiextensionsv1.CustomResourceDefinition {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"text0", "cidr"},
		Properties: hitchFields(), XValidations: apiextensionsv1.ValidationRules{
			{Rule: "!has(self.gateway) || cidr(self.cidr).containsIP(self.gateway)",
				Message: "gateway must lie in cidr"},
			{Rule: "self.count0 <= self.count1", MessageExpression: "self.text0 + ': count0 is more than count1'"},
			{Rule: "self.ports.all(p, p.port != 22 || p.name == 'ssh')", Message: "port 22 is ssh"},
		}}
	crd := knotDefinition()
	crd.Name = hitches.GroupResource().String()
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: hitches.Resource, Singular: "hitch",
		Kind: "Hitch", ListKind: "HitchList"}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"spec"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
	}
	return crd
}

func hitchFields() map[string]apiextensionsv1.JSONSchemaProps {
	text := func(length int64) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: &length}
	}
	number := func(from, to float64) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: &from, Maximum: &to}
	}
	short, items, set, byName := text(63), int64(16), "set", "map"
	port := apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name", "port"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"name": text(15), "port": number(1, 65535), "protocol": {Type: "string", Default: raw(`"TCP"`)},
		}}
	fields := map[string]apiextensionsv1.JSONSchemaProps{
		"cidr": text(43), "gateway": text(39), "port": {XIntOrString: true},
		"since": {Type: "string", Format: "date-time"},
		"labels": {Type: "object", MaxProperties: &items,
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &short}},
		"tags": {Type: "array", MaxItems: &items, XListType: &set,
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &short}},
		"ports": {Type: "array", MaxItems: &items, XListType: &byName, XListMapKeys: []string{"name"},
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &port}},
	}
	name := text(63)
	name.Pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	for i := range 12 {
		fields[fmt.Sprintf("text%d", i)] = text(64)
	}
	for i := range 6 {
		fields[fmt.Sprintf("name%d", i)], fields[fmt.Sprintf("count%d", i)] = name, number(0, 1000)
	}
	for i := range 5 {
		fields[fmt.Sprintf("mode%d", i)] = apiextensionsv1.JSONSchemaProps{Type: "string",
			Enum: []apiextensionsv1.JSON{*raw(`"one"`), *raw(`"two"`)}, Default: raw(`"one"`)}
	}
	for i := range 4 {
		fields[fmt.Sprintf("on%d", i)] = apiextensionsv1.JSONSchemaProps{Type: "boolean", Default: raw(`true`)}
	}
	return fields
}

func raw(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
