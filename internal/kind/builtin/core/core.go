// Package core is the kinds of Kubernetes' core group: one file per kind with its data, defaults, validation and
// columns. Events are here too, though they are served under events.k8s.io as well: they are stored in the core version.
//
// What a rule refuses, and in which words, follows Kubernetes 1.36 (k8s.io/kubernetes/pkg/apis/core/validation and
// pkg/registry/core); the tests name the source of each. Metadata is checked by the server, for all kinds alike.
// Package kind/builtin puts the kinds into a server's registry; nothing else calls this package.
package core

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// nothing is the cell of a table that has nothing to show.
const nothing = "<none>"

// textColumn is a column of texts; one of priority 1 is shown with -o wide alone.
func textColumn(name, description string, priority int32) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description, Priority: priority}
}

// Kinds are all kinds of the core group, for one server, in discovery's order. The cache bounds their second encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		configMapKind(cache),
		endpointsKind(cache),
		eventKind(cache),
		namespaceKind(cache),
		nodeKind(cache),
		claimKind(cache),
		podKind(cache),
		podTemplateKind(cache),
		replicationControllerKind(cache),
		resourceQuotaKind(cache),
		secretKind(cache),
		serviceAccountKind(cache),
		serviceKind(cache),
	}
}
