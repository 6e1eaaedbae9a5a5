package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Merge patches on decoded objects and on encoded ones have the same result. The test patches two custom
// resources that differ in one number: that of the second is no integer, so the server merges patch and
// object in their encoded form.
func TestMergePatchDecodedAndEncodedAgree(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, definitionsPath, widgetDefinition)
	for _, ways := range [][2]string{
		{"", `{"spec":{"color":"red","free":{"a":{"b":1.0,"c":null},"l":[{"x":null},null]}}}`},
		{"", `{"spec":{"color":null,"size":null}}`}, {"", `{"spec":null}`}, {"", `{"spec":[]}`},
		{"", `{"spec":{"free":[1]}}`},
		{"", `{"spec":{"size":1e2}}`}, {"", `{"spec":{"size":12}}`}, {"", `{"spec":{"size":"1"}}`},
		{"", `{"spec":{"colour":"red"}}`},
		{"", `{"spec":{"size":2,"size":3}}`}, {"", `{"metadata":{"labels":{"a":"1"},"finalizers":["example.com/f"]}}`},
		{"", `{"metadata":{"labels":{"a":1}}}`}, {"", `{"metadata":null}`}, {"", `{"metadata":{"name":"other"}}`},
		{"", `{"metadata":{"managedFields":[{}]}}`}, {"", `{"metadata":{"more":1}}`},
		{"", `{"metadata":{"resourceVersion":"1"}}`},
		{"", `{"kind":"Other"}`}, {"", `{"kind":null}`}, {"", `{"apiVersion":"example.com/v9"}`},
		{"", `{"status":{"size":1}}`},
		{"", `null`}, {"", `[]`}, {"", `{`}, {"", `{"spec":{"size":1e999}}`},
		{"/status", `{"status":{"size":3},"spec":{"size":4},"metadata":{"labels":{"b":"1"}}}`},
		{"/status", `{"status":{"size":"x"}}`},
		{"/status", `{"status":null}`}, {"?fieldValidation=Strict", `{"spec":{"size":2,"size":3}}`},
		{"?fieldValidation=Strict", `{"spec":{"colour":"red"}}`},
		{"?fieldValidation=Ignore", `{"spec":{"size":2,"size":3,"colour":"red"}}`},
		{"?dryRun=All", `{"spec":{"size":5}}`},
	} {
		path, body := ways[0], ways[1]
		var results [2]string
		for i, number := range []string{"15", "1.5"} {
			w.create(t, widgetsPath, widget("w", `{"size":1,"free":{"number":`+number+`,"a":{"b":0},"l":[1]}}`))
			r := w.send(t, http.MethodPatch, widgetsPath+"/w"+path, body, "Content-Type", mergeType)
			results[i] = strings.Join(r.header["Warning"],
				"; ") + " " + normalized(r.body) + " " + normalized(w.get(t, widgetsPath+"/w").body)
			w.send(t, http.MethodPatch, widgetsPath+"/w", `{"metadata":{"finalizers":null}}`, "Content-Type",
				mergeType).want(t, http.StatusOK)
			w.send(t, http.MethodDelete, widgetsPath+"/w", "").want(t, http.StatusOK)
		}
		if texts := strings.ReplaceAll(results[1], `"number":1.5`, `"number":15`); results[0] != texts {
			t.Errorf("%s %s: merged as decoded objects\n%s\nand as texts\n%s", path, body, results[0], texts)
		}
	}
}

// metadataPatches are valid and invalid patches of metadata.
var metadataPatches = []string{
	`{"labels":{"a":null,"b":"2"}}`, `{"labels":null}`, `{"labels":{"a":1}}`, `{"labels":{"-":"2"}}`, `{"labels":[]}`,
	`{"annotations":{"a":"1","a":"2"}}`, `{"annotations":{"a":"1"},"annotations":{"b":"1"}}`,
	`{"annotations":{"a":{"b":null}}}`,
	`{"finalizers":["g.h/i"]}`, `{"finalizers":null}`, `{"finalizers":[]}`, `{"finalizers":["not one"]}`,
	`{"finalizers":{"a":1}}`,
	`{"$deleteFromPrimitiveList/finalizers":["a.b/c"]}`, `{"$setElementOrder/finalizers":["d.e/f","a.b/c"]}`,
	`{"$deleteFromPrimitiveList/finalizers":"a.b/c"}`,
	`{"$setElementOrder/finalizers":["no"],"finalizers":["no","a.b/c"]}`,
	`{"ownerReferences":[{"uid":"u","name":"q"}]}`, `{"ownerReferences":[{"uid":"u","$patch":"delete"}]}`,
	`{"ownerReferences":[{"a":1}]}`, `{"ownerReferences":[{"$patch":"replace"}]}`,
	`{"uid":"other"}`, `{"uid":""}`, `{"uid":null}`, `{"resourceVersion":"1"}`, `{"resourceVersion":null}`,
	`{"name":"y"}`, `{"name":null}`,
	`{"labels":{"a":"1"}}`, `{"labels":{}}`, `{}`, `null`, `[]`, `{"more":1}`,
	`{"annotations":{"bowline.dev/initializers":"{\"pending\":[{\"name\":\"a.b.c\"}]}"}}`,
	`{"managedFields":[{}]}`, `{"labels":{"c":"3"},"generation":7}`, `{"$patch":"replace","labels":{"b":"1"}}`,
}

// Patches of metadata alone and patches of the whole encoded object have the same result. The second of two
// equal objects is patched with its kind in addition, which has no effect except that the server patches the
// whole object.
func TestMetadataPatchMatchesObjectPatch(t *testing.T) {
	t.Parallel()
	const meta = `"metadata":{"name":"x","labels":{"a":"1"},"finalizers":["a.b/c","d.e/f"],
		"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}`
	const pod = `"spec":{"containers":[{"name":"c","image":"i"}]}`
	const deployment = `"spec":{"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{"labels":{"a":"1"}},` +
		pod + `}}`
	for _, of := range []struct{ kind, path, spec string }{
		{"Pod", "/api/v1/namespaces/default/pods", pod},
		{"Deployment", "/apis/apps/v1/namespaces/default/deployments", deployment},
		{"Deployment", "/apis/extensions/v1beta1/namespaces/default/deployments", deployment},
	} {
		t.Run(of.path, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			result := func(how, params, body string) string {
				w.create(t, of.path, "{"+meta+","+of.spec+"}")
				r := w.send(t, http.MethodPatch, of.path+"/x"+params, body, "Content-Type", how)
				result := strings.Join(r.header["Warning"],
					"; ") + " " + normalized(r.body) + " " + normalized(w.get(t, of.path+"/x").body)
				none := `{"metadata":{"finalizers":null}}`
				w.send(t, http.MethodPatch, of.path+"/x", none, "Content-Type", mergeType).want(t, http.StatusOK)
				w.send(t, http.MethodDelete, of.path+"/x?gracePeriodSeconds=0&propagationPolicy=Background", "").want(t,
					http.StatusOK)
				return strings.NewReplacer(`"kind":"`+of.kind+`",`, "", "kind:"+of.kind+" ", "").Replace(result)
			}
			for _, change := range metadataPatches {
				for _, how := range []string{mergeType, strategicType} {
					for _, params := range []string{"", "?fieldValidation=Strict", "?dryRun=All", "/status"} {
						alone := result(how, params, `{"metadata":`+change+`}`)
						if text := result(how, params, `{"kind":"`+of.kind+`","metadata":`+change+`}`); alone != text {
							t.Errorf("%s %s %s: alone\n%s\nand as a text\n%s", how, params, change, alone, text)
						}
					}
				}
			}
		})
	}
}

// volatileFields matches what differs between writes of an object, also where an error quotes it.
var volatileFields = regexp.MustCompile(`"(uid|resourceVersion|creationTimestamp|time)":"[^"]*"`)

// normalized returns an object or an error without these parts.
func normalized(body []byte) string {
	return volatileFields.ReplaceAllString(strings.ReplaceAll(string(body), `\`, ""), "$1")
}
