package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pullPolicyOf returns the default pull policy of an image: Always for the tag latest, which is also the
// default tag, because its image may change. As in Kubernetes, a malformed or too long image name has no tag.
func pullPolicyOf(image string) corev1.PullPolicy {
	if strings.Contains(image, "@") {
		return corev1.PullIfNotPresent
	}
	name, tag := image, "latest"
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		name, tag = image[:i], image[i+1:]
	}
	if tag == "latest" && validRepository(name) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// maxRepository is the maximum length of an image name without its registry and tag. The name of an image of Docker Hub
// without an account counts with the account library.
const maxRepository = 255

// validRepository reports whether an image name without its tag is well-formed: after the registry,
// components of lower case letters and digits joined by single separators. Source: the grammar of the OCI
// distribution reference.
func validRepository(name string) bool {
	registry := "docker.io"
	if first, rest, ok := strings.Cut(name, "/"); ok && isRegistry(first) {
		registry, name = first, rest
	}
	if (registry == "docker.io" || registry == "index.docker.io") && !strings.Contains(name, "/") {
		name = "library/" + name
	}
	if len(name) > maxRepository {
		return false
	}
	for component := range strings.SplitSeq(name, "/") {
		if !validComponent(component) {
			return false
		}
	}
	return true
}

// isRegistry reports whether the first component of an image name is a host.
func isRegistry(s string) bool {
	return strings.ContainsAny(s, ".:") || s == "localhost" || strings.ToLower(s) != s
}

func validComponent(s string) bool {
	if s == "" || !isImageAlnum(s[0]) || !isImageAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isImageAlnum(s[i]) && s[i] != '.' && s[i] != '_' && s[i] != '-' {
			return false
		}
	}
	return true
}

func isImageAlnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
