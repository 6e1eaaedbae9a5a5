package plugins

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

var serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}

const (
	// defaultAccount is the service account of pods that name none.
	defaultAccount = "default"
	// accountPatience is how long a pod waits for the account "default" of a new namespace. Kubernetes reads the
	// account nine more times, with pauses of 0.1 to 0.2 s.
	accountPatience = 1800 * time.Millisecond

	// tokenVolume is the prefix of the name of a volume with a token, and tokenPath is where containers mount it.
	tokenVolume = "kube-api-access-"
	tokenPath   = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the lifetime of a token in Kubernetes: an hour, and seven seconds that mark the default.
	tokenSeconds = 3607
)

// ServiceAccount gives each new pod a service account, the account's imagePullSecrets, and a volume with a token of the
// account. It rejects pods whose account does not exist, and pods with secrets that their account does not allow.
// It is off by default, because it needs the controller that creates the account "default" of each namespace.
type ServiceAccount struct{}

// Name implements admission.Plugin.
func (ServiceAccount) Name() string { return "ServiceAccount" }

// Handles implements admission.Plugin. After the create of a pod, only its ephemeral containers may add secrets.
func (ServiceAccount) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods &&
		(op == admission.Create && sub == "" || op == admission.Update && sub == "ephemeralcontainers")
}

// Admit implements admission.Plugin. It does not modify a mirror pod, because the kubelet compares it with its source.
func (p ServiceAccount) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Operation != admission.Create {
		return nil
	}
	if podspec.IsMirror(pod) {
		return checkMirrorPod(a, pod)
	}
	spec := &pod.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName, spec.DeprecatedServiceAccount = defaultAccount, defaultAccount
	}
	account, err := accountOf(ctx, a, state, spec.ServiceAccountName)
	if err != nil {
		return err
	}
	if mountsToken(spec, account) {
		mountToken(spec)
	}
	if len(spec.ImagePullSecrets) == 0 {
		spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	return checkPodSecrets(a, pod, account)
}

// Validate implements admission.Plugin: another plugin may have changed the pod.
func (p ServiceAccount) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	if a.Operation == admission.Create && podspec.IsMirror(pod) {
		return checkMirrorPod(a, pod)
	}
	if old, ok := a.Old.(*corev1.Pod); ok && pod.Spec.ServiceAccountName == "" && old.Spec.ServiceAccountName == "" {
		return nil // it was created while the plugin was off
	}
	if pod.Spec.ServiceAccountName == "" {
		return a.Forbidden("no service account specified for pod %s/%s", a.Namespace, pod.Name)
	}
	account, err := accountOf(ctx, a, state, pod.Spec.ServiceAccountName)
	switch {
	case err != nil:
		return err
	case a.Operation == admission.Update:
		return checkEphemeralSecrets(pod, account)
	}
	return checkPodSecrets(a, pod, account)
}

// accountOf returns a service account of the namespace of a write, or a 403 if it does not exist.
func accountOf(ctx context.Context, a *admission.Attributes, state admission.Reader,
	name string) (*corev1.ServiceAccount, error) {
	obj, err := state.Get(ctx, serviceAccounts, a.Namespace, name)
	if err == nil && obj == nil && name == defaultAccount {
		obj, err = awaitAccount(ctx, state, a.Namespace, name)
	}
	account, found := obj.(*corev1.ServiceAccount)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err == nil && !found:
		err = apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccount"}, name)
	}
	if err != nil {
		return nil, a.Forbidden("error looking up service account %s/%s: %w", a.Namespace, name, err)
	}
	return account, nil
}

// awaitAccount waits until a controller has created an account, and returns nil if that takes too long. A Reader that
// does not report changes is not waited for.
func awaitAccount(ctx context.Context, state admission.Reader, namespace, name string) (admission.Object, error) {
	follower, ok := state.(admission.Follower)
	if !ok {
		return nil, nil
	}
	patience := time.NewTimer(accountPatience)
	defer patience.Stop()
	for {
		changed, err := follower.Changes(serviceAccounts) // before the read, so that no change is missed
		if err != nil {
			return nil, err
		}
		if obj, err := state.Get(ctx, serviceAccounts, namespace, name); err != nil || obj != nil {
			return obj, err
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mountsToken reports whether the containers of a pod mount a token: the pod decides, then its account.
func mountsToken(spec *corev1.PodSpec, account *corev1.ServiceAccount) bool {
	for _, automount := range []*bool{spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken} {
		if automount != nil {
			return *automount
		}
	}
	return true
}

// mountToken mounts a token in each container that mounts nothing at tokenPath. It uses the token volume that the pod
// already has, or adds one.
func mountToken(spec *corev1.PodSpec) {
	isTokenVolume := func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, tokenVolume) }
	own := slices.IndexFunc(spec.Volumes, isTokenVolume)
	mount := corev1.VolumeMount{ReadOnly: true, MountPath: tokenPath}
	if own >= 0 {
		mount.Name = spec.Volumes[own].Name
	} else {
		const randomLength = 5 // as in metadata.generateName
		mount.Name = tokenVolume + rand.String(randomLength)
	}
	mounted := false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			mounts := &containers[i].VolumeMounts
			atPath := func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }
			if !slices.ContainsFunc(*mounts, atPath) {
				*mounts = append(*mounts, mount)
				mounted = true
			}
		}
	}
	if mounted && own < 0 {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: mount.Name, VolumeSource: corev1.VolumeSource{
			Projected: tokenSource()}})
	}
}

// tokenSource returns the volume of a token: the token, the CA certificates of the server, and the pod's namespace.
func tokenSource() *corev1.ProjectedVolumeSource {
	token := &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(tokenSeconds))}
	authority := &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
		Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
	}
	namespace := &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace",
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}
	return &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: token}, {ConfigMap: authority}, {DownwardAPI: namespace},
		},
		DefaultMode: new(corev1.ProjectedVolumeSourceDefaultMode),
	}
}
