package core

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// podTemplateKind returns the kind of stand-alone pod templates, which no controller of Kubernetes uses.
func podTemplateKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "PodTemplate", Plural: "podtemplates", Singular: "podtemplate",
		Namespaced:     true,
		Generation:     true,
		ReturnsDeleted: true,
		Endpoints:      []kind.Endpoint{{Version: "v1"}},
	}, kind.Rules[*corev1.PodTemplate]{
		Default: func(t *corev1.PodTemplate) { podspec.DefaultTemplate(&t.Template) },
		Validate: func(t, old *corev1.PodTemplate, _ string) field.ErrorList {
			var was *corev1.PodTemplateSpec
			if old != nil {
				was = &old.Template
			}
			return append(fieldcheck.Finalizers(t), podspec.ValidateTemplate(&t.Template, was, field.NewPath("template"))...)
		},
		Warnings: func(t, old *corev1.PodTemplate) []string {
			if old != nil && old.Generation == t.Generation {
				return nil
			}
			return podspec.TemplateWarnings(&t.Template, field.NewPath("template"))
		},
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn, ContainersColumn(0), ImagesColumn(0),
			textColumn("Pod Labels", "The labels for the pod template.", 0),
		},
		Row: func(t *corev1.PodTemplate, _ time.Time) []any {
			names, images := ContainerCells(&t.Template)
			return []any{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
		},
	})
}

// ContainersColumn and ImagesColumn return the columns of ContainerCells; kubectl shows priority 1 only with
// -o wide.
func ContainersColumn(priority int32) metav1.TableColumnDefinition {
	return textColumn("Containers", "Names of each container in the template.", priority)
}

// ImagesColumn: see ContainersColumn.
func ImagesColumn(priority int32) metav1.TableColumnDefinition {
	return textColumn("Images", "Images referenced by each container in the template.", priority)
}

// ContainerCells formats the names and the images of a template's containers. The template may be nil.
func ContainerCells(template *corev1.PodTemplateSpec) (names, images string) {
	if template == nil {
		return "", ""
	}
	var n, i []string
	for _, c := range template.Spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
