package main

import (
	"fmt"
	"os"
	"strings"
)

// needsContainer begins the reasons of the specs that run only with -all: they wait minutes for what a container
// would do.
const needsContainer = "needs a container that runs"

// readExpected reads the list of the specs that are expected to fail, each with its reason. A line is a name, a tab
// and a reason; empty lines and those that begin with # are comments.
func readExpected(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	expected := map[string]string{}
	line := 0
	for text := range strings.Lines(string(text)) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		name, reason, found := strings.Cut(text, "\t")
		if !found || name == "" || reason == "" {
			return nil, fmt.Errorf("%s:%d: invalid line: must be a name, a tab and a reason", file, line)
		}
		if _, listed := expected[name]; listed {
			return nil, fmt.Errorf("%s:%d: listed twice: %s", file, line, name)
		}
		expected[name] = reason
	}
	return expected, nil
}
