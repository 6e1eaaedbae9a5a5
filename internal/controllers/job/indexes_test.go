package job

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestParseAndFormatIndexes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "0": "0", "0,1": "0,1", "0-2": "0-2", "0,1,2": "0-2", "1,3-5,7": "1,3-5,7", "3-4,0": "0,3,4",
		"0-99": "0-9", "8,12": "8", "x,2,-1,4-": "2",
	} {
		if got := parseIndexes(text, 10).String(); got != want {
			t.Errorf("indexes %q: got %q, want %q", text, got, want)
		}
	}
}

// Operations on spans agree with those on sets.
func TestIndexSetOperations(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const end = 30
	set := func() (list []int) {
		for n := range end {
			if random.IntN(3) == 0 {
				list = append(list, n)
			}
		}
		return list
	}
	for range 200 {
		a, b := set(), set()
		x, y := indexSet(a...), indexSet(b...)
		common := 0
		var missing []int
		both := union(x, y)
		for n := range end {
			inA, inB := slices.Contains(a, n), slices.Contains(b, n)
			if x.has(n) != inA || both.has(n) != (inA || inB) {
				t.Fatalf("index %d: got has %t in %v and %t in the union %v, want %t and %t", n, x.has(n), x,
					both.has(n), both,
					inA, inA || inB)
			}
			if inA && inB {
				common++
			}
			if !inA && len(missing) < 5 {
				missing = append(missing, n)
			}
		}
		if x.count() != len(a) || x.common(y) != common || !slices.Equal(x.missing(5, end), missing) {
			t.Fatalf("%v: got count %d, %d in common with %v, missing %v; want %d, %d, %v", x, x.count(), x.common(y),
				y,
				x.missing(5, end), len(a), common, missing)
		}
		if again := parseIndexes(x.String(), end); !slices.Equal(again, x) {
			t.Fatalf("parsing the formatted indexes: got %v, want %v", again, x)
		}
	}
}
