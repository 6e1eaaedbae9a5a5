package flowcontrol

import (
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Mandatory returns new copies of the levels and schemas that users cannot change: exempt and catch-all.
func Mandatory() ([]*flowcontrolv1.PriorityLevelConfiguration, []*flowcontrolv1.FlowSchema) {
	return copies(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.MandatoryFlowSchemas)
}

// Suggested returns new copies of the levels and schemas that a new cluster has and that users may change.
func Suggested() ([]*flowcontrolv1.PriorityLevelConfiguration, []*flowcontrolv1.FlowSchema) {
	return copies(bootstrap.SuggestedPriorityLevelConfigurations, bootstrap.SuggestedFlowSchemas)
}

func copies(levels []*level, schemas []*schema) (newLevels []*level, newSchemas []*schema) {
	version := flowcontrolv1.SchemeGroupVersion.String()
	for _, l := range levels {
		l = l.DeepCopy()
		l.TypeMeta = metav1.TypeMeta{Kind: "PriorityLevelConfiguration", APIVersion: version}
		newLevels = append(newLevels, l)
	}
	for _, s := range schemas {
		s = s.DeepCopy()
		s.TypeMeta = metav1.TypeMeta{Kind: "FlowSchema", APIVersion: version}
		newSchemas = append(newSchemas, s)
	}
	return newLevels, newSchemas
}

// Initial returns the suggested and the mandatory objects in the order in which kube-apiserver creates them. A server
// restores the specs of the mandatory objects, and those of the suggested objects that no user maintains.
func Initial() (objects []kind.Initial) {
	for _, mandatory := range []bool{false, true} {
		levels, schemas := Suggested()
		if mandatory {
			levels, schemas = Mandatory()
		}
		for _, l := range levels {
			objects = append(objects, kind.Initial{Object: l, Correct: func(stored kind.Object) bool {
				return correctLevel(stored.(*level), l, mandatory)
			}})
		}
		for _, s := range schemas {
			objects = append(objects, kind.Initial{Object: s, Correct: func(stored kind.Object) bool {
				return correctSchema(stored.(*schema), s, mandatory)
			}})
		}
	}
	return objects
}

// mandatoryLevel returns the mandatory level with that name, which the caller must not modify, or nil.
func mandatoryLevel(name string) *level {
	for _, l := range bootstrap.MandatoryPriorityLevelConfigurations {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// mandatorySchema returns the mandatory schema with that name, which the caller must not modify, or nil.
func mandatorySchema(name string) *schema {
	for _, s := range bootstrap.MandatoryFlowSchemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// correctLevel corrects a stored level, and reports whether it changed it. Users may change the shares of the exempt
// level.
func correctLevel(stored, want *level, mandatory bool) (changed bool) {
	follows, changed := updateAnnotation(stored, mandatory)
	is := stored.Spec
	if e := is.Exempt; e != nil && want.Spec.Exempt != nil {
		is.Exempt = want.Spec.Exempt
	}
	if !follows || equality.Semantic.DeepEqual(is, want.Spec) {
		return changed
	}
	stored.Spec = *want.Spec.DeepCopy()
	return true
}

func correctSchema(stored, want *schema, mandatory bool) (changed bool) {
	follows, changed := updateAnnotation(stored, mandatory)
	if !follows || equality.Semantic.DeepEqual(stored.Spec, want.Spec) {
		return changed
	}
	stored.Spec = *want.Spec.DeepCopy()
	return true
}

// updateAnnotation reports whether the server updates the spec of an object, and sets the object's annotation to that
// value. The server updates all mandatory objects, and a suggested object if its annotation is true or, without a valid
// annotation, if its spec was never changed.
func updateAnnotation(obj metav1.Object, mandatory bool) (follows, changed bool) {
	annotations := obj.GetAnnotations()
	annotated, err := strconv.ParseBool(annotations[flowcontrolv1.AutoUpdateAnnotationKey])
	valid := err == nil
	switch {
	case mandatory:
		follows = true
	case valid:
		follows = annotated
	default:
		follows = obj.GetGeneration() == 1
	}
	if valid && annotated == follows {
		return follows, false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[flowcontrolv1.AutoUpdateAnnotationKey] = strconv.FormatBool(follows)
	obj.SetAnnotations(annotations)
	return follows, true
}
