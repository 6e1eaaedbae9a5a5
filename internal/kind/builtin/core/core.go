// Package core defines the kinds of Kubernetes' core group: each has a file with its data, defaults,
// validation and columns. Events are part of this package, although events.k8s.io serves them as well,
// because they are stored in the core version.
//
// Validation follows Kubernetes 1.36 (k8s.io/kubernetes/pkg/apis/core/validation and pkg/registry/core); the
// tests name the source of each rule. The server validates metadata for all kinds. Package
// internal/kind/builtin registers the kinds.
package core

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// nothing is the table cell for a missing value.
const nothing = "<none>"

// textColumn returns a column of strings; kubectl shows priority 1 only with -o wide.
func textColumn(name, description string, priority int32) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description, Priority: priority}
}

// Kinds returns all kinds of the core group, for one server, in discovery's order. cache bounds the memory
// for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		bindingKind(cache),
		configMapKind(cache),
		componentStatusKind(cache),
		endpointsKind(cache),
		eventKind(cache),
		limitRangeKind(cache),
		namespaceKind(cache),
		nodeKind(cache),
		claimKind(cache),
		persistentVolumeKind(cache),
		podKind(cache),
		podTemplateKind(cache),
		replicationControllerKind(cache),
		resourceQuotaKind(cache),
		secretKind(cache),
		serviceAccountKind(cache),
		serviceKind(cache),
	}
}
