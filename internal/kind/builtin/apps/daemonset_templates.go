package apps

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Old versions of a daemonset count its templates in the field spec.templateGeneration, which apps/v1
// represents as an annotation. The server maintains the count: the client's value is only used on create.

const templates = appsv1.DeprecatedTemplateGeneration

// showTemplates sets the annotation if it is missing.
func showTemplates(d *appsv1.DaemonSet) {
	if _, ok := d.Annotations[templates]; !ok {
		setTemplates(d, 0)
	}
}

// templatesOf parses the annotation.
func templatesOf(d *appsv1.DaemonSet) (n int64, err error) {
	return strconv.ParseInt(d.Annotations[templates], 10, 64)
}

// setTemplates sets the annotation in a copy of the map, because objects may share their annotations.
func setTemplates(d *appsv1.DaemonSet, n int64) {
	annotations := make(map[string]string, len(d.Annotations)+1)
	maps.Copy(annotations, d.Annotations)
	annotations[templates] = strconv.FormatInt(n, 10)
	d.Annotations = annotations
}

// countTemplates increases the count if a write changes the template. An invalid value is retained for
// validation to reject.
func countTemplates(d, old *appsv1.DaemonSet, _ string) {
	n, err := templatesOf(d)
	if err != nil {
		return
	}
	if old == nil {
		setTemplates(d, max(n, 1))
		return
	}
	if n, err = templatesOf(old); err != nil {
		n = 0
	}
	if !equality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
		n++
	}
	setTemplates(d, n)
}

func validateTemplates(d *appsv1.DaemonSet) field.ErrorList {
	if _, err := templatesOf(d); err == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(templates),
		d.Annotations[templates],
		"must be an integer, or left to the server")}
}
