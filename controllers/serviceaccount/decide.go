package serviceaccount

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controllers/action"
)

// What each namespace has.
const (
	// DefaultAccount is the ServiceAccount of pods that name none.
	DefaultAccount = "default"
	// Bundle is the ConfigMap that says by which certificates the server is known, in its key "ca.crt".
	Bundle = "kube-root-ca.crt"
)

// description is the annotation of the ConfigMap that tells people what it is for. The text is Kubernetes'.
const (
	description     = "kubernetes.io/description"
	descriptionText = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal " +
		"service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

// seen is what a decision is made of. The account and the bundle are nil where there is none.
type seen struct {
	namespace *corev1.Namespace
	account   *corev1.ServiceAccount
	bundle    *corev1.ConfigMap
	authority string
}

// decide says what the namespace lacks.
func decide(s seen) (actions []action.Action) {
	if s.namespace.DeletionTimestamp != nil || s.namespace.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	if s.account == nil {
		account := &corev1.ServiceAccount{ObjectMeta: s.meta(DefaultAccount)}
		actions = append(actions, action.Create[*corev1.ServiceAccount]{In: accounts, Object: account, Anybodys: true})
	}
	data := map[string]string{"ca.crt": s.authority}
	switch b := s.bundle; {
	case b == nil:
		bundle := &corev1.ConfigMap{ObjectMeta: s.meta(Bundle), Data: data}
		bundle.Annotations = map[string]string{description: descriptionText}
		actions = append(actions, action.Create[*corev1.ConfigMap]{In: configMaps, Object: bundle, Anybodys: true})
	case b.DeletionTimestamp == nil && (!maps.Equal(b.Data, data) || b.Annotations[description] == ""):
		b = b.DeepCopy()
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, description, descriptionText)
		b.Data = data
		actions = append(actions, action.Update[*corev1.ConfigMap]{In: configMaps, Object: b})
	}
	return actions
}

func (s seen) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace.Name, Name: name}
}
