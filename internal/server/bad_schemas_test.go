package server_test

import (
	"net/http"
	"strings"
)

// refused is a request that creates or changes a definition and is answered 422.
func refused(what, body string) badRequest {
	return badRequest{what: what, body: body, as: mediaOf(what), code: http.StatusUnprocessableEntity,
		reason: invalidReason}
}

// mediaOf returns the default media type of a request's body.
func mediaOf(what string) string {
	if strings.HasPrefix(what, "PATCH ") {
		return mergeType
	}
	return jsonType
}

// gadgetsOf is a definition with this schema of spec, and additional fields in its version.
func gadgetsOf(spec, more string) badRequest {
	schema := `,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + spec +
		`,"status":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`
	return refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com", gadgetNames, schema+more))
}

// badSchemas are not structural, contradict themselves, or have invalid defaults. Rules and texts are those
// of k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and
// pkg/apiserver/schema.
var badSchemas = []badRequest{
	gadgetsOf(`{"type":"object","properties":{"a":{"$ref":"#/x"}}}`, ""),
	gadgetsOf(`{"type":"object","definitions":{"a":{"type":"string"}}}`, ""),
	gadgetsOf(`{"type":"array","uniqueItems":true,"items":{"type":"string"}}`, ""),
	gadgetsOf(`{"type":"array","additionalItems":true,"items":{"type":"string"}}`, ""),
	gadgetsOf(`{"type":"object","dependencies":{"a":["b"]}}`, ""),
	gadgetsOf(`{"type":"object","patternProperties":{"a":{"type":"string"}}}`, ""),
	gadgetsOf(`{"type":"array","items":[{"type":"string"}]}`, ""),
	gadgetsOf(`{"type":"array"}`, ""),
	gadgetsOf(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, ""),
	gadgetsOf(`{"type":"null"}`, ""),
	gadgetsOf(`{"type":"string","pattern":"a{2000}"}`, ""),
	gadgetsOf(`{"type":"string","enum":["a"],"default":"b"}`, ""),
	gadgetsOf(`{"type":"object","properties":{"a":{"type":"object","default":{"unknown":1},"properties":{"b":{"type":"integer"}}}}}`, ""),
	gadgetsOf(`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}]}`, ""),
	gadgetsOf(`{"type":"object","anyOf":[{"description":"no"}]}`, ""),
	gadgetsOf(`{"type":"object","not":{"default":{}}}`, ""),
	gadgetsOf(`{"type":"object","x-kubernetes-preserve-unknown-fields":false}`, ""),
	gadgetsOf(`{"type":"object","x-kubernetes-embedded-resource":true}`, ""),
	gadgetsOf(`{"type":"string","x-kubernetes-embedded-resource":true}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"map"}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"object","required":["a"],"properties":{"a":{"type":"object"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"string"},"x-kubernetes-list-map-keys":["a"]}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"set"}`, ""),
	gadgetsOf(`{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"heap"}`, ""),
	gadgetsOf(`{"type":"object","x-kubernetes-list-type":"set"}`, ""),
	gadgetsOf(`{"type":"object","x-kubernetes-map-type":"heap"}`, ""),
	gadgetsOf(`{"type":"string","x-kubernetes-map-type":"atomic"}`, ""),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"array","items":{"type":"string"}}}`)),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"object","nullable":true}}`)),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}}`)),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"object","properties":{"kind":{"type":"integer"}}}}`)),
}

// badVersions have invalid subresources, columns, selectable fields and conversions. The source is the same.
var badVersions = []badRequest{
	gadgetsOf(`{"type":"object"}`,
		`,"subresources":{"scale":{"specReplicasPath":"spec.n","statusReplicasPath":".status.n"}}`),
	gadgetsOf(`{"type":"object"}`,
		`,"subresources":{"scale":{"specReplicasPath":".metadata.n","statusReplicasPath":".status.n"}}`),
	gadgetsOf(`{"type":"object"}`,
		`,"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".spec.n"}}`),
	gadgetsOf(`{"type":"object"}`,
		`,"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n","labelSelectorPath":".labels"}}`),
	gadgetsOf(`{"type":"object"}`, `,"additionalPrinterColumns":[{"name":"","type":"string","jsonPath":".spec"}]`),
	gadgetsOf(`{"type":"object"}`, `,"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":""}]`),
	gadgetsOf(`{"type":"object"}`,
		`,"additionalPrinterColumns":[{"name":"A","type":"integer","format":"int16","jsonPath":".spec.n"}]`),
	gadgetsOf(`{"type":"object","properties":{"a":{"type":"object"}}}`, `,"selectableFields":[{"jsonPath":".spec.a"}]`),
	gadgetsOf(`{"type":"object"}`, `,"selectableFields":[{"jsonPath":".spec.nothing"}]`),
	gadgetsOf(`{"type":"object"}`, `,"selectableFields":[{"jsonPath":""}]`),
	gadgetsOf(`{"type":"object","properties":{"a":{"type":"string"}}}`,
		`,"selectableFields":[{"jsonPath":".spec.a"},{"jsonPath":".spec.a"}]`),
	gadgetsOf(`{"type":"object"}`, `,"selectableFields":[{"jsonPath":".metadata.name"}]`),
	gadgetsOf(`{"type":"object"}`, `,"deprecationWarning":"x"`),
	gadgetsOf(`{"type":"object"}`, `,"deprecated":true,"deprecationWarning":""`),
	gadgetsOf(`{"type":"object"}`, `},{"name":"V2","served":true,"storage":false`+anySchema),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Galactic","names":`+
			gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":true`+anySchema+`}]}}`),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":`+
			gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":false`+anySchema+`}]}}`),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","preserveUnknownFields":true,"names":`+gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":true`+anySchema+`}]}}`),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","conversion":{"strategy":"Magic"},"names":`+gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":true`+anySchema+`}]}}`),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","conversion":{"strategy":"Webhook"},"names":`+gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":true`+anySchema+`}]}}`),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","conversion":{"strategy":"None","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://a.example.com"}}},"names":`+gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":true`+anySchema+`}]}}`),
	refused("POST "+definitionsPath,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v9"],"clientConfig":{"url":"http://a.example.com"}}},"names":`+gadgetNames+`,"versions":[{"name":"v1","served":true,"storage":true`+anySchema+`}]}}`),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com",
		`{"plural":"gadgets","kind":"Gadget","listKind":"Gadget"}`, anySchema)),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com",
		`{"plural":"gadgets","kind":"Gadget","shortNames":["G!"]}`, anySchema)),
	refused("POST "+definitionsPath, definition("gadgets.example.com", "example.com",
		`{"plural":"gadgets","kind":"Gadget","categories":["A b"]}`, anySchema)),
	refused("PATCH "+definitionsPath+"/widgets.example.com", `{"spec":{"group":"other.example.com"}}`),
	refused("PATCH "+definitionsPath+"/widgets.example.com", `{"spec":{"names":{"plural":"others"}}}`),
}

// ruledGadgets is a definition whose spec has one rule, and these properties, as JSON.
func ruledGadgets(properties, rule string) badRequest {
	return gadgetsOf(`{"type":"object","properties":{`+properties+`},"x-kubernetes-validations":[`+rule+`]}`, "")
}

// badRules are rules that do not compile, have no effect, or may cost too much. The source is the same, with
// the CEL of k8s.io/apiserver/pkg/cel.
var badRules = []badRequest{
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":""}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n >"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 'a'"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.m > 1"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"other.n > 1"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","message":" "}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","message":"a\nb"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n >\n1"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","messageExpression":"self.n"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","messageExpression":"'a' +"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","reason":"Because"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","fieldPath":".m"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","fieldPath":"n"}`),
	ruledGadgets(`"n":{"type":"integer"}`, `{"rule":"self.n > 1","optionalOldSelf":true}`),
	ruledGadgets(`"s":{"type":"string"}`, `{"rule":"self.s.matches('(')"}`),
	ruledGadgets(`"s":{"type":"string"}`, `{"rule":"self.s.contains(self.s)"}`),
	ruledGadgets(`"l":{"type":"array","items":{"type":"integer"}}`, `{"rule":"self.l.all(a, self.l.all(b, a == b))"}`),
	gadgetsOf(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}}}}`, ""),
	gadgetsOf(`{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"true"}]}`, ""),
}
