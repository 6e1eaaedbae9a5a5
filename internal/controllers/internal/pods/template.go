package pods

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// New returns a pod made from a template for its owner of that kind.
func New(template *corev1.PodTemplateSpec, owner client.Object, kind schema.GroupVersionKind, name string) *corev1.Pod {
	template = template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			GenerateName:    owner.GetName() + "-",
			Namespace:       owner.GetNamespace(),
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: template.Spec,
	}
}

// The maximum length of a pod's name, which must be valid as a host name, and the length of its suffix.
const (
	maxName      = 63
	suffixLength = 5
)

// Prefix returns the prefix of the names of an owner's pods.
func Prefix(owner string) string {
	prefix := owner + "-"
	if len(prefix) > maxName-suffixLength {
		prefix = prefix[:maxName-suffixLength]
	}
	return prefix
}

// Name returns the n-th name of an owner's pods. It looks like a name that the server generated, but is
// derived from the owner: two controllers that both find the n-th pod missing, because both run or because
// the cache of one is stale, create the same pod, and the server rejects the second request. Kubernetes'
// random names would result in two pods.
func Name(owner client.Object, n int) string {
	return NameWithPrefix(Prefix(owner.GetName()), owner, n)
}

// NameWithPrefix is Name with the given prefix instead of the owner's.
func NameWithPrefix(prefix string, owner client.Object, n int) string {
	return prefix + nameSuffix(owner.GetUID(), n)
}

// NameForKey returns the n-th name of the pods that an owner has for a key, such as a node, and a template's
// hash.
func NameForKey(owner client.Object, key, hash string, n int) string {
	each := types.UID(fmt.Sprintf("%s/%s/%s", owner.GetUID(), key, hash))
	return Prefix(owner.GetName()) + nameSuffix(each, n)
}

// alphabet contains the characters of Kubernetes' generated names. It has no vowels and no characters that
// can be confused with each other.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

func nameSuffix(uid types.UID, n int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", uid, n)
	sum := h.Sum64()
	var name [suffixLength]byte
	for i := range name {
		name[i] = alphabet[sum%uint64(len(alphabet))]
		sum /= uint64(len(alphabet))
	}
	return string(name[:])
}
