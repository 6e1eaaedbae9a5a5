package provider

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const idPrefix = "bowline."

// part is what a plane id or a UID may consist of, so that an ID is a file name and can be taken apart again.
var part = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// CheckPlane says whether a plane id can be part of an ID.
func CheckPlane(plane string) error {
	if !part.MatchString(plane) {
		return fmt.Errorf("plane id %q: must be 1 to 100 letters, digits, '-' and '_', and begin with a letter or digit", plane)
	}
	return nil
}

// CheckUID says whether a UID can be part of an ID. Those of Kubernetes can.
func CheckUID(uid types.UID) error {
	if !part.MatchString(string(uid)) {
		return fmt.Errorf("uid %q: must be 1 to 100 letters, digits, '-' and '_', and begin with a letter or digit", uid)
	}
	return nil
}

// ID names the real network of an object in a plane. It carries both whole, so that one glance at a name tells whose it
// is, even when that is all there is of a network.
func ID(plane string, uid types.UID) string { return idPrefix + plane + "." + string(uid) }

// ParseID takes an ID apart; ok is false for a name that is none, or that is another plane's.
func ParseID(plane, id string) (uid types.UID, ok bool) {
	rest, ok := strings.CutPrefix(id, idPrefix+plane+".")
	return types.UID(rest), ok && part.MatchString(rest)
}
