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

// New makes a pod of a template for its owner, which is of that kind. It is named by Name.
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

// The bounds of a pod's name, such that it may be a hostname.
const (
	longestName = 63
	suffix      = 5
)

// Prefix is what the names of an owner's pods begin with.
func Prefix(owner string) string {
	prefix := owner + "-"
	if len(prefix) > longestName-suffix {
		prefix = prefix[:longestName-suffix]
	}
	return prefix
}

// Name is the n-th name of an owner's pods. It looks like one that the server generated, but follows from the owner: two
// controllers that both see the n-th pod missing, because one of them sees the state of a while ago or both work at a time,
// make the same pod, and the server refuses it to the second. Kubernetes' pods have random names, and then there are two.
func Name(owner client.Object, n int) string { return NameAfter(Prefix(owner.GetName()), owner, n) }

// NameAfter is the n-th name of those of an owner's pods that begin with a prefix of their own.
func NameAfter(prefix string, owner client.Object, n int) string {
	return prefix + nameSuffix(owner.GetUID(), n)
}

// letters are those of generated names: no vowels, and nothing that looks like something else.
const letters = "bcdfghjklmnpqrstvwxz2456789"

func nameSuffix(uid types.UID, n int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", uid, n)
	sum := h.Sum64()
	var name [suffix]byte
	for i := range name {
		name[i] = letters[sum%uint64(len(letters))]
		sum /= uint64(len(letters))
	}
	return string(name[:])
}
