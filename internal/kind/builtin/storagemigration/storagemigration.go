// Package storagemigration defines the kinds of the storagemigration.k8s.io group: storageversionmigrations, which
// request a rewrite of all objects of a resource in the storage version. No controller of this project acts on them.
//
// Validation follows Kubernetes 1.37 (pkg/apis/storagemigration/validation and pkg/registry/storagemigration), which
// serves the group by default since that version. The declarative rules of k8s.io/api/storagemigration are not in force
// yet. The server validates metadata for all kinds. Package internal/kind/builtin registers the kinds; no other package
// uses this one.
package storagemigration

import (
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind { return []kind.Kind{migrationKind(cache)} }

func migrationKind(cache *object.Cache) kind.Kind {
	name := kind.NameColumn
	name.Format = "" // as in Kubernetes
	return kind.NewTyped(cache, kind.Info{
		Kind: "StorageVersionMigration", Plural: "storageversionmigrations", Singular: "storageversionmigration",
		ConditionalUpdate: true,
		Endpoints: []kind.Endpoint{
			{Group: storagemigrationv1.GroupName, Version: storagemigrationv1.SchemeGroupVersion.Version},
			// Off by default. JSON and protobuf are the same in both versions.
			{Group: storagemigrationv1.GroupName, Version: "v1beta1", Unserved: true,
				Deprecated: "storagemigration.k8s.io/v1beta1 StorageVersionMigration is deprecated in v1.37+, " +
					"unavailable in v1.40+; use storagemigration.k8s.io/v1 StorageVersionMigration"},
		},
		Subresources: []kind.Subresource{
			{Name: "status", Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata"}},
		},
	}, kind.Rules[*storagemigrationv1.StorageVersionMigration]{
		Prepare:  prepareMigration,
		Validate: fieldcheck.WithFinalizers(validateMigration),
		Columns: []metav1.TableColumnDefinition{
			name,
			{Name: "Resource", Type: "string", Description: "GroupResource to migrate"},
			{Name: "Status", Type: "string", Description: "Status of the migration"},
		},
		Row: func(m *storagemigrationv1.StorageVersionMigration, _ time.Time) []any {
			return []any{m.Name, m.Spec.Resource.String(), phase(m.Status.Conditions)}
		},
	})
}

// prepareMigration restores the metadata that a write of the status cannot change.
func prepareMigration(m, old *storagemigrationv1.StorageVersionMigration, sub string) {
	if old != nil && sub == "status" {
		m.Labels, m.Annotations, m.Finalizers = old.Labels, old.Annotations, old.Finalizers
	}
}

// phase returns the last of the known conditions that is true.
func phase(conditions []metav1.Condition) string {
	text := "Unknown"
	for _, c := range conditions {
		switch storagemigrationv1.MigrationConditionType(c.Type) {
		case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationSucceeded,
			storagemigrationv1.MigrationFailed:
			if c.Status == metav1.ConditionTrue {
				text = c.Type
			}
		}
	}
	return text
}
