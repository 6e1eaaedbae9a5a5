package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments, err string
	}{
		{"", ""},
		{"-focus sig-apps -o json -all -procs 1 -spec-timeout 1m", ""},
		{"-focus [", "error parsing regexp: missing closing ]: `[`"},
		{"-o yaml", `invalid format "yaml": must be table or json`},
		{"-procs 0", "-procs, -spec-timeout and -timeout must be positive"},
		{"sig-apps", `unexpected argument "sig-apps"`},
	} {
		o, err := parse(strings.Fields(c.arguments), io.Discard)
		switch {
		case c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%q: the error is %v, want %q", c.arguments, err, c.err)
		case err == nil && o.specTime < time.Minute:
			t.Errorf("%q: a spec may take %v", c.arguments, o.specTime)
		}
	}
	help := &strings.Builder{}
	if _, err := parse([]string{"-h"}, help); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(help.String(), "Examples:") || !strings.Contains(help.String(), "-spec-timeout time") {
		t.Errorf("the help is %q (%v)", help, err)
	}
}
