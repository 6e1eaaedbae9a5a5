package simulated

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DefaultImages returns the default of Options.Images: every image exists, except those of registries that cannot exist
// and those tagged 404, nonexistent or non-existent.
func DefaultImages() []string {
	return []string{
		"*", "-invalid.*/*", "-*.invalid/*", "-*.invalid:*/*", "-*:404", "-*:nonexistent", "-*:non-existent",
	}
}

// images are the patterns of the images that exist.
type images []string

// newImages returns the patterns of a list. A list that begins with an exception has the exceptions of the default too.
func newImages(list []string) images {
	if len(list) == 0 || strings.HasPrefix(list[0], "-") {
		return append(DefaultImages(), list...)
	}
	return list
}

// exist reports whether an image exists. The last pattern that matches decides.
func (all images) exist(image string) bool {
	for i := len(all) - 1; i >= 0; i-- {
		pattern, except := strings.CutPrefix(all[i], "-")
		if matches(pattern, image) {
			return !except
		}
	}
	return false
}

// matches reports whether a pattern matches a whole image. An asterisk matches any text, also an empty one.
func matches(pattern, image string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == image
	}
	first, last := parts[0], parts[len(parts)-1]
	rest, ok := strings.CutPrefix(image, first)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return true
}

// setImage sets the image of a container, and whether it is missing. The annotation image decides, or
// else the patterns.
func (s *Stages) setImage(c *corev1.Container, all images, annotations *annotationReader) {
	s.image = c.Image
	exists := all.exist(c.Image)
	switch value, key := annotations.lookup("image"); {
	case key == "":
	case value == "present", value == "missing":
		exists = value == "present"
	default:
		annotations.reject(key, value, "present or missing")
	}
	s.never = c.ImagePullPolicy == corev1.PullNever
	switch {
	case exists:
		s.missing = ""
	case s.never:
		s.missing = fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image)
	default:
		s.missing = fmt.Sprintf("rpc error: code = NotFound desc = failed to pull image %q: not found", c.Image)
	}
}
