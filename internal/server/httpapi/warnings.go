package httpapi

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The maximum length of all Warnings of an answer and, if they exceed it, of each one, in characters. Clients
// limit the size of headers.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// sendable returns the distinct warnings of an answer, each as one line. Like in Kubernetes, texts with other
// control characters, which a webhook may have sent, are left out, because clients reject the whole answer. If
// the warnings are too long in total, each is truncated and the last ones are left out.
func sendable(texts []string) []string {
	all, total := make([]string, 0, len(texts)), 0
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		text = strings.ReplaceAll(text, "\n", " ")
		if text == "" || seen[text] || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
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
