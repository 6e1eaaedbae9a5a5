package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Diff describes how got differs from want, in one line for each object that is missing or unexpected, and
// for each field that differs.
func Diff(want, got Normal) []string {
	var lines []string
	for _, name := range keys(want, got) {
		w, wanted := want[name]
		g, found := got[name]
		switch {
		case !found:
			lines = append(lines, name+": is missing")
		case !wanted:
			lines = append(lines, name+": is unexpected")
		default:
			lines = append(lines, differences(name+": ", "", w, g)...)
		}
	}
	return lines
}

// keys returns the keys of both maps, sorted.
func keys[M ~map[string]any](a, b M) []string {
	all := maps.Clone(a)
	if all == nil {
		all = M{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// differences returns the differences of two values at a field path.
func differences(name, path string, want, got any) []string {
	w, wantsMap := want.(map[string]any)
	g, hasMap := got.(map[string]any)
	if !wantsMap || !hasMap {
		if reflect.DeepEqual(want, got) {
			return nil
		}
		return []string{fmt.Sprintf("%s%s is %s, want %s", name, path, short(got), short(want))}
	}
	var lines []string
	for _, key := range keys(w, g) {
		at := key
		if path != "" {
			at = path + "." + key
		}
		lines = append(lines, differences(name, at, w[key], g[key])...)
	}
	return lines
}

// short formats a value in one line of limited length; nil is an absent field.
func short(v any) string {
	if v == nil {
		return "absent"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const maxLength = 200
	if len(data) > maxLength {
		return string(data[:maxLength]) + "..."
	}
	return string(data)
}
