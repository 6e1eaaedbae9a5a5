package podspec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// prepareEphemeral restores everything that a write of pods/ephemeralcontainers cannot change.
func prepareEphemeral(pod, old *corev1.Pod) {
	sent := pod.Spec.EphemeralContainers
	restore(pod, old)
	pod.Spec.EphemeralContainers = sent
	countGeneration(pod, old)
}

// maxDifferences is the number of changed containers whose difference is shown. A response lists no more errors.
const maxDifferences = 100

// validateEphemeralUpdate validates a write of pods/ephemeralcontainers. It may add containers, but neither change nor
// remove any, because they run until the pod ends. A patch may change their order.
func validateEphemeralUpdate(pod, old *corev1.Pod) field.ErrorList {
	if IsMirror(old) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	errs := validateWholePod(pod, old)
	path := field.NewPath("spec", "ephemeralContainers")
	sent := make(map[string]*corev1.EphemeralContainer, len(pod.Spec.EphemeralContainers))
	for i := range pod.Spec.EphemeralContainers {
		c := &pod.Spec.EphemeralContainers[i]
		sent[c.Name] = c
	}
	shown := 0
	for i := range old.Spec.EphemeralContainers {
		was := &old.Spec.EphemeralContainers[i]
		is, kept := sent[was.Name]
		switch {
		case !kept:
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name)))
		case !equality.Semantic.DeepEqual(was, is):
			difference := ""
			if shown++; shown <= maxDifferences {
				difference = layoutDifference(Layout(was), Layout(is))
			}
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", was.Name, difference)))
		}
	}
	return errs
}

// IsMirror reports whether a pod represents a static pod, which a kubelet runs from a file.
func IsMirror(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

// ephemeralFields lists the fields that an ephemeral container may set. It is for debugging, and not part of the
// pod's service.
var ephemeralFields = map[string]bool{
	"Name": true, "Image": true, "Command": true, "Args": true, "WorkingDir": true, "EnvFrom": true, "Env": true,
	"VolumeMounts": true, "VolumeDevices": true, "TerminationMessagePath": true, "TerminationMessagePolicy": true,
	"ImagePullPolicy": true, "SecurityContext": true, "Stdin": true, "StdinOnce": true, "TTY": true,
}

const ephemeralMessage = "cannot be set for an Ephemeral Container"

// validateEphemeralContainers validates the ephemeral containers of a pod. Their names must be unique among all
// containers of the pod, and their targets must be init containers or regular containers.
func validateEphemeralContainers(s *podScope, path *field.Path) (errs field.ErrorList) {
	if len(s.spec.EphemeralContainers) == 0 {
		return nil
	}
	others := containerNames(s.spec.Containers)
	for i := range s.spec.InitContainers {
		others[s.spec.InitContainers[i].Name] = true
	}
	names := make(map[string]bool, len(s.spec.EphemeralContainers))
	for i := range s.spec.EphemeralContainers {
		e, at := &s.spec.EphemeralContainers[i], path.Index(i)
		c := (*corev1.Container)(&e.EphemeralContainerCommon)
		errs = append(errs, validateContainer(s, c, at)...)
		errs = append(errs, fieldcheck.NoSpaces(at.Child("image"), c.Image)...)
		if others[e.Name] || names[e.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), e.Name))
		}
		names[e.Name] = true
		if t := e.TargetContainerName; t != "" && !others[t] {
			errs = append(errs, field.NotFound(at.Child("targetContainerName"), t))
		}
		errs = append(errs, forbidFields(reflect.ValueOf(e.EphemeralContainerCommon), ephemeralFields, ephemeralMessage,
			at)...)
		for m, mount := range e.VolumeMounts {
			if mount.SubPath != "" {
				errs = append(errs, field.Forbidden(at.Child("volumeMounts").Index(m).Child("subPath"),
					ephemeralMessage))
			}
			if mount.SubPathExpr != "" {
				errs = append(errs, field.Forbidden(at.Child("volumeMounts").Index(m).Child("subPathExpr"),
					ephemeralMessage))
			}
		}
	}
	return errs
}

func hasEphemeral(list []corev1.EphemeralContainer, name string) bool {
	return slices.ContainsFunc(list, func(c corev1.EphemeralContainer) bool { return c.Name == name })
}

// forbidFields rejects fields of a struct that are set but not allowed, by their Go names.
func forbidFields(v reflect.Value, allowed map[string]bool, message string, path *field.Path) (errs field.ErrorList) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !allowed[name] && !v.Field(i).IsZero() {
			errs = append(errs, field.Forbidden(path.Child(strings.ToLower(name[:1])+name[1:]), message))
		}
	}
	return errs
}
