package why

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/bowline-dev/bowline/internal/printable"
)

// FuzzDelivery sends any body as the runs of another process. It is rejected as a bad request, or the report about them
// can be decoded, and contains no character that is unsafe on a terminal.
func FuzzDelivery(f *testing.F) {
	f.Add(deliveryOf(good()))
	f.Add(deliveryOf(good(), good()))
	f.Add(`{"runs":[null,{}]}`)
	f.Add(`{"runs":null}`)
	for field, value := range map[string]any{"id": "\x1b[2J", "start": "0001-01-01T00:00:00Z", "times": 1 << 40, "after": []any{"x"}} {
		run := good()
		run[field] = value
		f.Add(deliveryOf(run))
	}
	f.Fuzz(func(t *testing.T, body string) {
		j := New(withoutLog(Options{}))
		if w := ask(j, http.MethodPost, "", body); w.Code == http.StatusBadRequest {
			return
		} else if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		text := ask(j, http.MethodGet, "", "").Body.Bytes()
		report, err := ReadReport(text)
		if err != nil {
			t.Fatalf("%s is reported as %s, which is rejected: %v", body, text, err)
		}
		checkTexts(t, reflect.ValueOf(*report))
		if again, err := json.Marshal(report); err != nil {
			t.Errorf("%s is reported as %s, which becomes %s, %v", body, text, again, err)
		}
	})
}

// FuzzReadReport decodes any answer of a server. It is rejected, or all its texts are safe on a terminal.
func FuzzReadReport(f *testing.F) {
	j := New(withoutLog(Options{}))
	ask(j, http.MethodPost, "", deliveryOf(good()))
	f.Add(ask(j, http.MethodGet, "", "").Body.Bytes())
	f.Add([]byte(`{"loops":[{"controllers":["\u001b"],"objects":[{}]}],"failures":[{"error":"\u202e"}],"runs":[null]}`))
	f.Add([]byte(`{"runs":[{"causes":[{"kind":"x"}],"writes":[{"revision":-1}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if report, err := ReadReport(text); err == nil {
			checkTexts(t, reflect.ValueOf(*report))
		}
	})
}

// checkTexts checks that all strings in a value are printable.
func checkTexts(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if !printable.Is(v.String()) {
			t.Errorf("got the text %q", v.String())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkTexts(t, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			checkTexts(t, v.Index(i))
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			checkTexts(t, i.Key())
			checkTexts(t, i.Value())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			checkTexts(t, field)
		}
	}
}
