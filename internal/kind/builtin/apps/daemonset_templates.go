package apps

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The old versions of a daemonset counted the templates that it has had, in a field; apps/v1 has an annotation for the
// number. The server counts: what a client writes there is heard on create alone.

const templates = appsv1.DeprecatedTemplateGeneration

// showTemplates makes every daemonset show a number, even before its first template is counted.
func showTemplates(d *appsv1.DaemonSet) {
	if _, ok := d.Annotations[templates]; !ok {
		setTemplates(d, 0)
	}
}

// templatesOf is the number of templates that a daemonset has had; err says that its annotation holds none.
func templatesOf(d *appsv1.DaemonSet) (n int64, err error) {
	return strconv.ParseInt(d.Annotations[templates], 10, 64)
}

// setTemplates writes the number into a map of its own, since an object may share its annotations with another.
func setTemplates(d *appsv1.DaemonSet, n int64) {
	annotations := make(map[string]string, len(d.Annotations)+1)
	maps.Copy(annotations, d.Annotations)
	annotations[templates] = strconv.FormatInt(n, 10)
	d.Annotations = annotations
}

// countTemplates counts a write that changes the template. A number that is none stays, and is refused in a moment.
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
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(templates), d.Annotations[templates],
		"must be an integer, or left to the server")}
}
