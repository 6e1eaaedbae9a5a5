package standin

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagSet is the flags of a program: those that it knows by what they mean here, and no other.
type flagSet struct{ *pflag.FlagSet }

func newFlags(program, about string, to io.Writer) flagSet {
	set := pflag.NewFlagSet(program, pflag.ContinueOnError)
	set.SetOutput(to)
	set.SortFlags = false
	set.Usage = func() { fmt.Fprintf(to, "%s\n\nFlags:\n%s", about, set.FlagUsagesWrapped(110)) }
	return flagSet{set}
}

// value is a flag that is checked when it is set. Commas separate what it holds, as in all lists of these programs.
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

func (f flagSet) checked(name, kind, usage string, check func(string) error) {
	flag := f.VarPF(&value{kind: kind, check: check}, name, "", usage)
	if kind == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// ignored are flags that change nothing here.
func (f flagSet) ignored(why string, names ...string) {
	for _, name := range names {
		kind := "string"
		if name, switches := strings.CutSuffix(name, "?"); switches {
			f.checked(name, "bool", why, func(string) error { return nil })
			continue
		}
		f.checked(name, kind, why, func(string) error { return nil })
	}
}

// only is a flag that may say what is so anyway.
func (f flagSet) only(name, kind, why string, values ...string) {
	f.checked(name, kind, why, eachOf(func(v string) error {
		if slices.Contains(values, v) {
			return nil
		}
		return fmt.Errorf("bowline has %s (%s)", strings.Join(values, " and "), why)
	}))
}

// refused are flags that ask for what there is not.
func (f flagSet) refused(why string, names ...string) {
	for _, name := range names {
		f.checked(name, "string", "refused: "+why, func(string) error { return fmt.Errorf("%s: leave the flag out", why) })
	}
}

// eachOf checks each part of a list.
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
