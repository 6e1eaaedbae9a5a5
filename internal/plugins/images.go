package plugins

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/admission"
)

// AlwaysPullImages makes pods pull each image anew, so that a pod can only use images that its own credentials can
// pull. It is off by default.
type AlwaysPullImages struct{}

// Name implements admission.Plugin.
func (AlwaysPullImages) Name() string { return "AlwaysPullImages" }

// Handles implements admission.Plugin.
func (AlwaysPullImages) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin. An update that adds no image keeps the policies of the pod.
func (AlwaysPullImages) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || keepsImages(pod, a.Old) {
		return nil
	}
	for _, p := range pullPolicies(&pod.Spec) {
		*p.policy = corev1.PullAlways
	}
	return nil
}

// Validate implements admission.Plugin: another plugin may have changed a policy.
func (AlwaysPullImages) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || keepsImages(pod, a.Old) {
		return nil
	}
	var errs []error
	for _, p := range pullPolicies(&pod.Spec) {
		if *p.policy != corev1.PullAlways {
			errs = append(errs, field.NotSupported(p.path, *p.policy, []corev1.PullPolicy{corev1.PullAlways}))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return a.Forbidden("%w", errors.Join(errs...))
}

// pullPolicy refers to a field of a pod with the policy for pulling an image.
type pullPolicy struct {
	path   *field.Path
	policy *corev1.PullPolicy
}

func pullPolicies(spec *corev1.PodSpec) (all []pullPolicy) {
	path := field.NewPath("spec")
	containers := func(name string, list []corev1.Container) {
		for i := range list {
			all = append(all, pullPolicy{path.Child(name).Index(i).Child("imagePullPolicy"), &list[i].ImagePullPolicy})
		}
	}
	containers("initContainers", spec.InitContainers)
	containers("containers", spec.Containers)
	for i := range spec.EphemeralContainers {
		all = append(all, pullPolicy{path.Child("ephemeralContainers").Index(i).Child("imagePullPolicy"),
			&spec.EphemeralContainers[i].ImagePullPolicy})
	}
	for i := range spec.Volumes {
		if image := spec.Volumes[i].Image; image != nil {
			at := path.Child("volumes").Index(i).Child("image", "pullPolicy")
			all = append(all, pullPolicy{at, &image.PullPolicy})
		}
	}
	return all
}

// keepsImages reports whether an update adds no image to a pod. It returns false for a create.
func keepsImages(pod *corev1.Pod, before admission.Object) bool {
	old, updates := before.(*corev1.Pod)
	if !updates || old == nil {
		return false
	}
	had := map[string]bool{}
	for _, image := range imagesOf(&old.Spec) {
		had[image] = true
	}
	for _, image := range imagesOf(&pod.Spec) {
		if !had[image] {
			return false
		}
	}
	return true
}

func imagesOf(spec *corev1.PodSpec) (images []string) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			images = append(images, list[i].Image)
		}
	}
	for i := range spec.EphemeralContainers {
		images = append(images, spec.EphemeralContainers[i].Image)
	}
	return images
}
