package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// span is the range of indexes from first to last, inclusive.
type span struct{ first, last int }

// indexes is a set of completion indexes, as sorted spans that do not touch. A job has up to a million
// indexes; its status lists them in the form "0-4,7,9".
type indexes []span

// indexSet returns the set of the listed indexes.
func indexSet(list ...int) indexes {
	spans := make(indexes, len(list))
	for i, n := range list {
		spans[i] = span{n, n}
	}
	return union(spans)
}

// union returns the indexes that are in any of the lists.
func union(lists ...indexes) (all indexes) {
	spans := slices.Concat(lists...)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, s := range spans {
		if n := len(all); n > 0 && s.first <= all[n-1].last+1 {
			all[n-1].last = max(all[n-1].last, s.last)
			continue
		}
		all = append(all, s)
	}
	return all
}

// parseIndexes parses the indexes in a status or a rule. It skips what is not an index, and indexes beyond
// completions, which remain after a job was scaled down.
func parseIndexes(text string, completions int) indexes {
	var found indexes
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || first < 0 || first >= completions || last < first {
			continue
		}
		found = append(found, span{first, min(last, completions-1)})
	}
	return union(found)
}

func (x indexes) String() string {
	var parts []string
	for _, s := range x {
		parts = append(parts, strconv.Itoa(s.first))
		switch {
		case s.last == s.first+1:
			parts = append(parts, strconv.Itoa(s.last))
		case s.last > s.first:
			parts[len(parts)-1] += "-" + strconv.Itoa(s.last)
		}
	}
	return strings.Join(parts, ",")
}

func (x indexes) count() (n int) {
	for _, s := range x {
		n += s.last - s.first + 1
	}
	return n
}

func (x indexes) has(n int) bool {
	i, _ := slices.BinarySearchFunc(x, n, func(s span, n int) int { return cmp.Compare(s.last, n) })
	return i < len(x) && x[i].first <= n
}

// common returns the number of indexes in both sets.
func (x indexes) common(y indexes) (n int) {
	for len(x) > 0 && len(y) > 0 {
		n += max(0, min(x[0].last, y[0].last)-max(x[0].first, y[0].first)+1)
		if x[0].last < y[0].last {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return n
}

// missing returns the first indexes below end that are not in x, at most count of them.
func (x indexes) missing(count, end int) (list []int) {
	next := 0
	for _, s := range append(slices.Clone(x), span{end, end}) {
		for ; next < min(s.first, end) && len(list) < count; next++ {
			list = append(list, next)
		}
		next = max(next, s.last+1)
	}
	return list
}
