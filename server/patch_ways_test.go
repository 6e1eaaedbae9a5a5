package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestMergePatchesOfMapsAndOfTextsAreAlike patches two custom resources that differ in one number: that of the second is no
// integer, so that patch and object are merged as texts. Answers and states must be the same but for that.
func TestMergePatchesOfMapsAndOfTextsAreAlike(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, definitionsPath, widgetDefinition)
	for _, ways := range [][2]string{
		{"", `{"spec":{"color":"red","free":{"a":{"b":1.0,"c":null},"l":[{"x":null},null]}}}`},
		{"", `{"spec":{"color":null,"size":null}}`}, {"", `{"spec":null}`}, {"", `{"spec":[]}`}, {"", `{"spec":{"free":[1]}}`},
		{"", `{"spec":{"size":1e2}}`}, {"", `{"spec":{"size":12}}`}, {"", `{"spec":{"size":"1"}}`}, {"", `{"spec":{"colour":"red"}}`},
		{"", `{"spec":{"size":2,"size":3}}`}, {"", `{"metadata":{"labels":{"a":"1"},"finalizers":["example.com/f"]}}`},
		{"", `{"metadata":{"labels":{"a":1}}}`}, {"", `{"metadata":null}`}, {"", `{"metadata":{"name":"other"}}`},
		{"", `{"metadata":{"managedFields":[{}]}}`}, {"", `{"metadata":{"more":1}}`}, {"", `{"metadata":{"resourceVersion":"1"}}`},
		{"", `{"kind":"Other"}`}, {"", `{"kind":null}`}, {"", `{"apiVersion":"example.com/v9"}`}, {"", `{"status":{"size":1}}`},
		{"", `null`}, {"", `[]`}, {"", `{`}, {"", `{"spec":{"size":1e999}}`},
		{"/status", `{"status":{"size":3},"spec":{"size":4},"metadata":{"labels":{"b":"1"}}}`}, {"/status", `{"status":{"size":"x"}}`},
		{"/status", `{"status":null}`}, {"?fieldValidation=Strict", `{"spec":{"size":2,"size":3}}`},
		{"?fieldValidation=Strict", `{"spec":{"colour":"red"}}`}, {"?fieldValidation=Ignore", `{"spec":{"size":2,"size":3,"colour":"red"}}`},
		{"?dryRun=All", `{"spec":{"size":5}}`},
	} {
		path, body := ways[0], ways[1]
		var said [2]string
		for i, number := range []string{"15", "1.5"} {
			w.create(t, widgetsPath, widget("w", `{"size":1,"free":{"number":`+number+`,"a":{"b":0},"l":[1]}}`))
			r := w.send(t, http.MethodPatch, widgetsPath+"/w"+path, body, "Content-Type", mergeType)
			said[i] = strings.Join(r.header["Warning"], "; ") + " " + alike(r.body) + " " + alike(w.get(t, widgetsPath+"/w").body)
			w.send(t, http.MethodPatch, widgetsPath+"/w", `{"metadata":{"finalizers":null}}`, "Content-Type", mergeType).want(t, http.StatusOK)
			w.send(t, http.MethodDelete, widgetsPath+"/w", "").want(t, http.StatusOK)
		}
		if texts := strings.ReplaceAll(said[1], `"number":1.5`, `"number":15`); said[0] != texts {
			t.Errorf("%s %s: merged as maps\n%s\nand as texts\n%s", path, body, said[0], texts)
		}
	}
}

// eachTime is what differs each time in an object, and in one that an error quotes.
var eachTime = regexp.MustCompile(`"(uid|resourceVersion|creationTimestamp|time)":"[^"]*"`)

// alike is an object or an error without that.
func alike(body []byte) string {
	return eachTime.ReplaceAllString(strings.ReplaceAll(string(body), `\`, ""), "$1")
}
