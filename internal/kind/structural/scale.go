package structural

import (
	"fmt"
	"math"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
)

// scaleSubresource returns the subresource that shows a custom resource as an autoscaling/v1 Scale, with the
// definition's paths. replicas is the result of replicasPaths.
func scaleSubresource(paths *apiextensionsv1.CustomResourceSubresourceScale,
	replicas map[string]string) kind.Subresource {
	return kind.Subresource{
		Name:  "scale",
		Kind:  autoscalingv1.SchemeGroupVersion.WithKind("Scale"),
		Verbs: []string{"get", "patch", "update"}, Replicas: replicas,
		New: func() runtime.Object { return &autoscalingv1.Scale{} },

		Columns: kind.CustomScaleColumns,
		Row:     kind.ScaleRow,
		View: func(obj kind.Object) (runtime.Object, error) {
			return viewScale(obj.(*unstructured.Unstructured), paths)
		},
		Apply: func(obj kind.Object, body runtime.Object) error {
			return applyScale(obj.(*unstructured.Unstructured), body.(*autoscalingv1.Scale), paths)
		},
	}
}

// replicasPaths maps the apiVersions of a definition to the fields that their scales set.
func replicasPaths(crd *apiextensionsv1.CustomResourceDefinition) map[string]string {
	paths := map[string]string{}
	for _, v := range crd.Spec.Versions {
		if v.Subresources != nil && v.Subresources.Scale != nil {
			paths[crd.Spec.Group+"/"+v.Name] = v.Subresources.Scale.SpecReplicasPath
		}
	}
	return paths
}

// segments splits a path in dot notation, the form of the paths of the scale subresource.
func segments(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func viewScale(u *unstructured.Unstructured,
	paths *apiextensionsv1.CustomResourceSubresourceScale) (*autoscalingv1.Scale, error) {
	wanted, found, err := unstructured.NestedInt64(u.Object, segments(paths.SpecReplicasPath)...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist",
			paths.SpecReplicasPath))
	}
	running, _, err := unstructured.NestedInt64(u.Object, segments(paths.StatusReplicasPath)...)
	if err != nil {
		return nil, err
	}
	selector := ""
	if paths.LabelSelectorPath != nil && *paths.LabelSelectorPath != "" {
		if selector, _, err = unstructured.NestedString(u.Object, segments(*paths.LabelSelectorPath)...); err != nil {
			return nil, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: "Scale", APIVersion: autoscalingv1.SchemeGroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{
			Name:              u.GetName(),
			Namespace:         u.GetNamespace(),
			UID:               u.GetUID(),
			ResourceVersion:   u.GetResourceVersion(),
			CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(running), Selector: selector},
	}, nil
}

// applyScale sets the replicas of a Scale and, as a precondition, its resourceVersion.
func applyScale(u *unstructured.Unstructured, scale *autoscalingv1.Scale,
	paths *apiextensionsv1.CustomResourceSubresourceScale) error {
	if scale.ResourceVersion != "" {
		u.SetResourceVersion(scale.ResourceVersion)
	}
	return unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas), segments(paths.SpecReplicasPath)...)
}

// validateScale validates the fields that the scale subresource shows. paths is nil for a version without one.
func validateScale(u *unstructured.Unstructured,
	paths *apiextensionsv1.CustomResourceSubresourceScale) field.ErrorList {
	if paths == nil {
		return nil
	}
	return append(validateReplicas(u, paths.SpecReplicasPath), validateScaleStatus(u, paths)...)
}

func validateScaleStatus(u *unstructured.Unstructured,
	paths *apiextensionsv1.CustomResourceSubresourceScale) field.ErrorList {
	if paths == nil {
		return nil
	}
	errs := validateReplicas(u, paths.StatusReplicasPath)
	if path := paths.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(u.Object, segments(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

// validateReplicas validates a number of replicas.
func validateReplicas(u *unstructured.Unstructured, path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(u.Object, segments(path)...)
	problem := ""
	switch {
	case err != nil:
		problem = err.Error()
	case n < 0:
		problem = "should be a non-negative integer"
	case n > math.MaxInt32:
		problem = fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath(path), n, problem)}
}
