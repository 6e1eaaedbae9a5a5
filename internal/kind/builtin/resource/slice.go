package resource

import (
	"fmt"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// resourceSliceKind returns the kind of resource slices, with which drivers publish the devices of their pools.
func resourceSliceKind(cache *object.Cache) kind.Kind {
	docs := resourcev1.ResourceSliceSpec{}.SwaggerDoc()
	published, selectable := endpoints("ResourceSlice"), map[string]string{
		resourcev1.ResourceSliceSelectorNodeName: "",
		resourcev1.ResourceSliceSelectorDriver:   "",
		resourcev1.ResourceSliceSelectorPoolName: "",
	}
	for i := range published {
		e := &published[i]
		e.Selectable, e.NoNamespaceSelector = selectable, true
		e.UnsupportedField = "field label not supported for " + e.APIVersion() + ", Kind=ResourceSlice: %s"
	}
	return kind.NewTyped(cache, kind.Info{
		Kind: "ResourceSlice", Plural: "resourceslices", Singular: "resourceslice",
		Generation:     true,
		ReturnsDeleted: true,
		Endpoints:      published,
	}, kind.Rules[*resourcev1.ResourceSlice]{
		Default: defaultSlice,
		Prepare: func(s, _ *resourcev1.ResourceSlice, _ string) { dropFromSlice(&s.Spec) },
		Validate: func(s, old *resourcev1.ResourceSlice, _ string) field.ErrorList {
			return append(fieldcheck.Finalizers(s), checkSlice(s, old).all()...)
		},
		Warnings: func(s, _ *resourcev1.ResourceSlice) []string { return sliceWarnings(s) },
		Fields: func(s *resourcev1.ResourceSlice) map[string]string {
			return map[string]string{
				resourcev1.ResourceSliceSelectorNodeName: ptr.Deref(s.Spec.NodeName, ""),
				resourcev1.ResourceSliceSelectorDriver:   s.Spec.Driver,
				resourcev1.ResourceSliceSelectorPoolName: s.Spec.Pool.Name,
			}
		},
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Node", Type: "string", Description: docs["nodeName"]},
			{Name: "Driver", Type: "string", Description: docs["driver"]},
			{Name: "Pool", Type: "string", Description: resourcev1.ResourcePool{}.SwaggerDoc()["name"]},
			kind.AgeColumn,
		},
		Row: func(s *resourcev1.ResourceSlice, now time.Time) []any {
			return []any{s.Name, ptr.Deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name,
				kind.Age(s.CreationTimestamp.Time, now)}
		},
		Versions: sliceVersions(),
	})
}

func defaultSlice(s *resourcev1.ResourceSlice) {
	for i := range s.Spec.Devices {
		taints := s.Spec.Devices[i].Taints
		for j := range taints {
			defaultTaint(&taints[j])
		}
	}
}

func sliceWarnings(s *resourcev1.ResourceSlice) []string {
	if s.Spec.Driver == strings.ToLower(s.Spec.Driver) {
		return nil
	}
	return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters",
		s.Spec.Driver)}
}
