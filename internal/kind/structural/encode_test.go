package structural

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestEncodeMatchesMarshal compares encode with json.Marshal for random values of all types.
func TestEncodeMatchesMarshal(t *testing.T) {
	t.Parallel()
	var e encodings
	r := rand.New(rand.NewSource(1))
	for range 2000 {
		v := randomJSON(r, 4)
		want, wantErr := json.Marshal(v)
		got, err := e.encode(v)
		if string(got) != string(want) || err != nil || wantErr != nil {
			t.Fatalf("%#v is encoded as\n%s (%v), by the library as\n%s (%v)", v, got, err, want, wantErr)
		}
	}
	for _, v := range []any{math.NaN(), []any{math.Inf(1)}, map[string]any{"a": func() {}}} {
		if got, err := e.encode(v); err == nil {
			t.Errorf("%#v is encoded as %s, want an error", v, got)
		}
	}
}

var oddTexts = []string{"", "plain", `quote"`, `back\slash`, "<b>&", "é", "\u2028", "\x00\n\t\x7f", "\xff", "日本"}

// randomJSON returns a random value of the types that decoders produce, and of some others that programs use.
func randomJSON(r *rand.Rand, depth int) any {
	n := 12
	if depth == 0 {
		n = 9
	}
	switch r.Intn(n) {
	case 0:
		return nil
	case 1:
		return r.Intn(2) == 0
	case 2:
		return r.Int63() - r.Int63()
	case 3:
		return r.NormFloat64() * math.Pow10(r.Intn(60)-30)
	case 4:
		return []any{map[string]any(nil), []any(nil), []string{"a"}, map[string]string{"b": "<"}, int32(3),
			json.Number("7")}[r.Intn(6)]
	case 5, 6, 7, 8:
		return oddTexts[r.Intn(len(oddTexts))]
	case 9:
		items := make([]any, r.Intn(3))
		for i := range items {
			items[i] = randomJSON(r, depth-1)
		}
		return items
	}
	m := map[string]any{}
	for range r.Intn(10) {
		m[oddTexts[r.Intn(len(oddTexts))]+string(rune('a'+r.Intn(26)))] = randomJSON(r, depth-1)
	}
	return m
}

// TestEncodedBytesAreNotPooled checks that the result of encode does not share memory with a pooled buffer.
func TestEncodedBytesAreNotPooled(t *testing.T) {
	t.Parallel()
	var e encodings
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			text := strings.Repeat(strconv.Itoa(i), 20_000)
			for range 300 {
				data, err := e.encode(map[string]any{"text": text})
				if want := `{"text":"` + text + `"}`; err != nil || string(data) != want {
					return fmt.Errorf("the text of %d was encoded as %.40s: %v", i, data, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
