package why

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// ask sends a request to a journal.
func ask(j *Journal, method, query, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	j.ServeHTTP(w, httptest.NewRequest(method, Path+query, strings.NewReader(body)))
	return w
}

// good is a run of another process.
func good() map[string]any {
	var run map[string]any
	now := time.Now()
	text, err := json.Marshal(Run{
		ID: "p-1", Controller: "c", Object: mapOf("a"), Start: now, First: now, Times: 1,
		Causes: []Cause{change("a", 1, 2)}, Notes: []string{"n"}, Acts: []string{"a"},
		Writes: []Write{{Verb: "update", Object: mapOf("b"), UID: "u", Revision: 3, Status: 200}},
	})
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(text, &run); err != nil {
		panic(err)
	}
	return run
}

func deliveryOf(runs ...map[string]any) string {
	text, err := json.Marshal(map[string]any{"runs": runs})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestForwardedRunsAreStoredOnce(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	for range 3 { // the answer to the first may have been lost
		if w := ask(j, http.MethodPost, "", deliveryOf(good())); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	ran(j, "second", "b", change("b", 2, 3))
	w := ask(j, http.MethodGet, "?resource=configmaps&namespace=default&name=a", "")
	var report Report
	if err := json.Unmarshal(w.Body.Bytes(), &report); err != nil || w.Code != http.StatusOK {
		t.Fatal(err, w.Body)
	}
	if got := strings.Join(runsOf(&report), "; "); got != "c; second c" {
		t.Errorf("got runs %q", got)
	}
	if report.Runs[0].Causes[0] != change("a", 1, 2) {
		t.Errorf("got cause %+v", report.Runs[0].Causes[0])
	}
}

// bad are values that are none of a run's: of the wrong type, too long, or not printable.
var bad = map[string]any{
	"a number": 7, "a text": "text", "a negative number": -1, "a fraction": 1.5, "a list": []any{1},
	"an object": map[string]any{"runs": 1},
	"true":      true, "an escape": "a\x1b[2Jb", "a line break": "a\nb", "text that turns round": "a\u202eb",
	"too long": strings.Repeat("x", 4096),
	"many":     make([]map[string]any, 100), "a huge number": 1e300,
	"tomorrow": time.Now().Add(24 * time.Hour).Format(time.RFC3339),
}

// Whatever is put in place of whatever part of a delivery is refused with its name, or is as good as what was there.
func TestInvalidForwardIsRejected(t *testing.T) {
	t.Parallel()
	tried, refused := 0, 0
	try := func(where, what string, run map[string]any) {
		tried++
		j := New(withoutLog(Options{}))
		w := ask(j, http.MethodPost, "", deliveryOf(good(), run))
		runs := j.Report(Object{}, 100).Runs
		switch w.Code {
		case http.StatusBadRequest:
			refused++
			if len(runs) > 0 {
				t.Errorf("%s as %s: rejected, but %d runs were recorded", where, what, len(runs))
			}
			field, _, _ := strings.Cut(where, ".")
			if field == "start" || field == "first" {
				field = "runs[1]" // the library's words for a text that is no time
			}
			if !strings.Contains(w.Body.String(), field) {
				t.Errorf("%s as %s: the response does not name it: %s", where, what, w.Body)
			}
		case http.StatusOK:
			d := Delivery{Runs: runs}
			if err := d.Check(time.Now()); err != nil {
				t.Errorf("%s as %s was accepted: %v", where, what, err)
			}
		default:
			t.Errorf("%s as %s: %d %s", where, what, w.Code, w.Body)
		}
	}
	for field := range good() {
		for what, value := range bad {
			run := good()
			run[field] = value
			try(field, what, run)
		}
	}
	for _, list := range []string{"causes", "writes"} {
		for field := range good()[list].([]any)[0].(map[string]any) {
			for what, value := range bad {
				run := good()
				run[list].([]any)[0].(map[string]any)[field] = value
				try(list+"."+field, what, run)
			}
		}
	}
	for _, field := range []string{"group", "resource", "namespace", "name"} {
		for what, value := range bad {
			run := good()
			run["object"].(map[string]any)[field] = value
			try("object."+field, what, run)
		}
	}
	if tried < 300 || refused < tried*2/3 {
		t.Errorf("%d of %d invalid deliveries were rejected", refused, tried)
	}
}

func TestInvalidQueriesAreRejected(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	for _, c := range []struct {
		method, query, body string
		code                int
		says                string
	}{
		{http.MethodGet, "?limit=0", "", 400, "is not a positive number"},
		{http.MethodGet, "?limit=many", "", 400, "is not a positive number"},
		{http.MethodGet, "?resource=pods", "", 400, "needs resource= and name="},
		{http.MethodGet, "?name=a&namespace=b", "", 400, "needs resource= and name="},
		{http.MethodDelete, "", "", 405, "read with GET"},
		{http.MethodPut, "", "{}", 405, "read with GET"},
		{http.MethodPost, "", "", 400, "invalid runs"},
		{http.MethodPost, "", "[]", 400, "invalid runs"},
		{http.MethodPost, "", `{"runs":[{}]}`, 400, "runs[0].id: is missing"},
		{http.MethodPost, "", `{"runs":[` + strings.Repeat("{},", 600) + `{}]}`, 400, "too many"},
		{http.MethodPost, "", `{"runs":[{"id":"` + strings.Repeat("x", 2<<20) + `"}]}`, 413, "at most 1048576 bytes"},
	} {
		w := ask(j, c.method, c.query, c.body)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) ||
			!strings.Contains(w.Body.String(), `"kind":"Status"`) {
			t.Errorf("%s %s %.40s: %d %s", c.method, c.query, c.body, w.Code, w.Body)
		}
	}
	if w := ask(j, http.MethodPost, "", `{"runs":[],"added":"by a later version"}`); w.Code != http.StatusOK {
		t.Errorf("fields of a later version: %d %s", w.Code, fmt.Sprint(w.Body))
	}
}
