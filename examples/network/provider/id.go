package provider

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const idPrefix = "bowline."

// part matches a plane ID or a UID that may be part of an ID, so that an ID is a valid file name and can be
// parsed.
var part = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// CheckPlane returns an error unless a plane ID may be part of an ID.
func CheckPlane(plane string) error {
	if !part.MatchString(plane) {
		return fmt.Errorf("plane id %.120q: must be 1 to 100 letters, digits, '-' and '_', and begin with a letter or digit",
			plane)
	}
	return nil
}

// CheckUID returns an error unless a UID may be part of an ID. UIDs of Kubernetes may.
func CheckUID(uid types.UID) error {
	if !part.MatchString(string(uid)) {
		return fmt.Errorf("uid %.120q: must be 1 to 100 letters, digits, '-' and '_', and begin with a letter or digit",
			uid)
	}
	return nil
}

// ID returns the name of the real network of an object. It contains the whole plane ID and UID, so the name
// alone identifies the owner.
func ID(plane string, uid types.UID) string { return idPrefix + plane + "." + string(uid) }

// ParseID returns the UID in an ID. ok is false if id is not an ID of this plane.
func ParseID(plane, id string) (uid types.UID, ok bool) {
	rest, ok := strings.CutPrefix(id, idPrefix+plane+".")
	return types.UID(rest), ok && part.MatchString(rest)
}
