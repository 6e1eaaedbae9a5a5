package standin

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagSet is the set of flags that a program accepts.
type flagSet struct{ *pflag.FlagSet }

func newFlags(program, about string, to io.Writer) flagSet {
	set := pflag.NewFlagSet(program, pflag.ContinueOnError)
	set.SetOutput(to)
	set.SortFlags = false
	set.Usage = func() { fmt.Fprintf(to, "%s\n\nFlags:\n%s", about, set.FlagUsagesWrapped(110)) }
	return flagSet{set}
}

// value is a flag whose value is checked when it is set.
type value struct {
	text  string
	kind  string
	check func(string) error
}

func (v *value) String() string { return v.text }
func (v *value) Type() string   { return v.kind }

// Set implements pflag.Value.
func (v *value) Set(text string) error {
	v.text = text
	return v.check(text)
}

// addChecked adds a flag with a check function for its value.
func (f flagSet) addChecked(name, kind, usage string, check func(string) error) {
	flag := f.VarPF(&value{kind: kind, check: check}, name, "", usage)
	if kind == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// addIgnored adds flags that have no effect. A trailing ? marks a boolean flag that needs no value.
func (f flagSet) addIgnored(why string, names ...string) {
	for _, name := range names {
		kind := "string"
		if name, switches := strings.CutSuffix(name, "?"); switches {
			f.addChecked(name, "bool", why, func(string) error { return nil })
			continue
		}
		f.addChecked(name, kind, why, func(string) error { return nil })
	}
}

// addFixed adds a flag that accepts nothing but the given values, which describe the fixed behavior of bowline.
func (f flagSet) addFixed(name, kind, why string, values ...string) {
	f.addChecked(name, kind, why, eachOf(func(v string) error {
		if slices.Contains(values, v) {
			return nil
		}
		return fmt.Errorf("bowline supports only %s (%s)", strings.Join(values, " or "), why)
	}))
}

// addRefused adds flags for features that bowline does not have. Setting one is an error.
func (f flagSet) addRefused(why string, names ...string) {
	for _, name := range names {
		f.addChecked(name, "string", "refused: "+why, func(string) error {
			return fmt.Errorf("%s: omit the flag", why)
		})
	}
}

// eachOf returns a function that applies check to each element of a comma-separated list.
func eachOf(check func(string) error) func(string) error {
	return func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if err := check(part); err != nil {
				return err
			}
		}
		return nil
	}
}
