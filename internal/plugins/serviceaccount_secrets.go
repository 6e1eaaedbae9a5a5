package plugins

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/admission"
)

// enforceSecrets is the annotation of a service account whose pods may only use the secrets that the account lists.
const enforceSecrets = "kubernetes.io/enforce-mountable-secrets"

// checkMirrorPod returns a 403 for a mirror pod that uses a service account or a secret.
func checkMirrorPod(a *admission.Attributes, pod *corev1.Pod) error {
	switch {
	case pod.Spec.ServiceAccountName != "":
		return a.Forbidden("a mirror pod may not reference service accounts")
	case usesSecrets(&pod.Spec):
		return a.Forbidden("a mirror pod may not reference secrets")
	}
	isToken := func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }
	for i := range pod.Spec.Volumes {
		if p := pod.Spec.Volumes[i].Projected; p != nil && slices.ContainsFunc(p.Sources, isToken) {
			return a.Forbidden("a mirror pod may not use ServiceAccountToken volume projections")
		}
	}
	return nil
}

// usesSecrets reports whether a pod names a secret.
func usesSecrets(spec *corev1.PodSpec) bool {
	named := func(r corev1.LocalObjectReference) bool { return r.Name != "" }
	return slices.ContainsFunc(spec.ImagePullSecrets, named) ||
		slices.ContainsFunc(spec.InitContainers, containerUsesSecrets) ||
		slices.ContainsFunc(spec.Containers, containerUsesSecrets) ||
		slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
			return containerUsesSecrets(corev1.Container(c.EphemeralContainerCommon))
		}) ||
		slices.ContainsFunc(spec.Volumes, volumeUsesSecrets)
}

func containerUsesSecrets(c corev1.Container) bool {
	return slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool {
		return e.SecretRef != nil && e.SecretRef.Name != ""
	}) || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name != ""
	})
}

func volumeUsesSecrets(v corev1.Volume) bool {
	local := func(ref *corev1.LocalObjectReference) bool { return ref != nil && ref.Name != "" }
	switch {
	case v.Secret != nil:
		return v.Secret.SecretName != ""
	case v.Projected != nil:
		return slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.Secret != nil && s.Secret.Name != ""
		})
	case v.CSI != nil:
		return local(v.CSI.NodePublishSecretRef)
	case v.AzureFile != nil:
		return v.AzureFile.SecretName != ""
	case v.CephFS != nil:
		return local(v.CephFS.SecretRef)
	case v.Cinder != nil:
		return local(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		return local(v.FlexVolume.SecretRef)
	case v.ISCSI != nil:
		return local(v.ISCSI.SecretRef)
	case v.RBD != nil:
		return local(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		return local(v.ScaleIO.SecretRef)
	case v.StorageOS != nil:
		return local(v.StorageOS.SecretRef)
	}
	return false
}

// enforcesSecrets reports whether an account limits the secrets that its pods may use.
func enforcesSecrets(account *corev1.ServiceAccount) bool {
	on, err := strconv.ParseBool(account.Annotations[enforceSecrets])
	return err == nil && on
}

// checkPodSecrets returns a 403 for the first secret of a pod that its account does not list.
func checkPodSecrets(a *admission.Attributes, pod *corev1.Pod, account *corev1.ServiceAccount) error {
	if !enforcesSecrets(account) {
		return nil
	}
	if err := newSecretList(account).checkPod(&pod.Spec); err != nil {
		return a.Forbidden("%w", err)
	}
	return nil
}

// checkEphemeralSecrets returns an error for the first secret of an ephemeral container that the account does not list.
// It is a 500 as in Kubernetes, whose error has no code.
func checkEphemeralSecrets(pod *corev1.Pod, account *corev1.ServiceAccount) error {
	if !enforcesSecrets(account) {
		return nil
	}
	listed := newSecretList(account)
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		if err := listed.checkContainer("ephemeral container", &c); err != nil {
			return unknownError("%v", err)
		}
	}
	return nil
}

// secretList has the names of the secrets that a service account lists.
type secretList struct {
	account         string
	mountable, pull map[string]bool
}

func newSecretList(account *corev1.ServiceAccount) *secretList {
	l := &secretList{account: account.Name, mountable: map[string]bool{}, pull: map[string]bool{}}
	for _, s := range account.Secrets {
		l.mountable[s.Name] = true
	}
	for _, s := range account.ImagePullSecrets {
		l.pull[s.Name] = true
	}
	return l
}

// checkPod returns an error for the first secret that is not listed. Of the volumes, only those of the type secret
// count, as in Kubernetes.
func (l *secretList) checkPod(spec *corev1.PodSpec) error {
	for i := range spec.Volumes {
		if s := spec.Volumes[i].Secret; s != nil && !l.mountable[s.SecretName] {
			return fmt.Errorf(`volume with secret.secretName="%s" is not allowed because service account %s does not `+
				`reference that secret`, s.SecretName, l.account)
		}
	}
	for i := range spec.InitContainers {
		if err := l.checkContainer("init container", &spec.InitContainers[i]); err != nil {
			return err
		}
	}
	for i := range spec.Containers {
		if err := l.checkContainer("container", &spec.Containers[i]); err != nil {
			return err
		}
	}
	for i, s := range spec.ImagePullSecrets {
		if !l.pull[s.Name] {
			return fmt.Errorf(`imagePullSecrets[%d].name="%s" is not allowed because service account %s does not `+
				`reference that imagePullSecret`, i, s.Name, l.account)
		}
	}
	return nil
}

// checkContainer returns an error for the first secret in the environment of a container that is not listed. what
// names the type of the container.
func (l *secretList) checkContainer(what string, c *corev1.Container) error {
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from != nil && from.SecretKeyRef != nil && !l.mountable[from.SecretKeyRef.Name] {
			return fmt.Errorf(`%s %s with envVar %s referencing secret.secretName="%s" is not allowed because service `+
				`account %s does not reference that secret`, what, c.Name, c.Env[i].Name, from.SecretKeyRef.Name, l.account)
		}
	}
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && !l.mountable[from.SecretRef.Name] {
			return fmt.Errorf(`%s %s with envFrom referencing secret.secretName="%s" is not allowed because service `+
				`account %s does not reference that secret`, what, c.Name, from.SecretRef.Name, l.account)
		}
	}
	return nil
}
