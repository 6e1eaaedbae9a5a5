package server

import "unicode/utf8"

// What the texts of all Warnings of an answer, and each one where they are too many, may take, in characters: no client
// reads headers without end.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// bounded are the warnings of an answer, each once. As in Kubernetes, when they are too much for the headers, each is
// cut short and the last ones are left out.
func bounded(texts []string) []string {
	all, total := make([]string, 0, len(texts)), 0
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		all = append(all, text)
		total += utf8.RuneCountInString(text)
	}
	if total <= maxWarnings {
		return all
	}
	written := 0
	for i, text := range all {
		if written >= maxWarnings {
			return all[:i]
		}
		if r := []rune(text); len(r) > maxWarning {
			all[i] = string(r[:maxWarning])
		}
		written += utf8.RuneCountInString(all[i])
	}
	return all
}
