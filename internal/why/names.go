package why

import "fmt"

var kindNames = []string{Changed: "changed", Started: "started", Resynced: "resynced", Timed: "timed",
	Retried:   "retried",
	Triggered: "triggered", Repeated: "repeated"}

var changeNames = []string{Added: "added", Updated: "updated", Ending: "ending", Deleted: "deleted"}

// String returns the name of the kind.
func (k Kind) String() string { return nameOf(kindNames, uint8(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(text []byte) error {
	n, err := valueOf("causes: kind", kindNames, string(text))
	*k = Kind(n)
	return err
}

// String returns the name of the change.
func (c Change) String() string { return nameOf(changeNames, uint8(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Change) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Change) UnmarshalText(text []byte) error {
	n, err := valueOf("causes: change", changeNames, string(text))
	*c = Change(n)
	return err
}

func nameOf(names []string, n uint8) string {
	if int(n) < len(names) {
		return names[n]
	}
	return ""
}

func valueOf(what string, names []string, text string) (uint8, error) {
	for n, name := range names {
		if n > 0 && name == text {
			return uint8(n), nil
		}
	}
	return 0, fmt.Errorf("%s: invalid value %.40q: must be one of %q", what, text, names[1:])
}
