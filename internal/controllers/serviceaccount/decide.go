package serviceaccount

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
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
	// authority is empty where nobody has said by which certificates the server is known.
	authority string
}

// next is what is to stand in the bundle: who does not know the certificates leaves what somebody has said of them.
func (s seen) next() said {
	if s.authority == "" && s.bundle != nil {
		return saidIn(s.bundle)
	}
	return said{map[string]string{"ca.crt": s.authority}, true}
}

// said is what a bundle says: the certificates, and whether people are told what they are for.
type said struct {
	Data      map[string]string
	Described bool
}

func saidIn(bundle *corev1.ConfigMap) said {
	return said{bundle.Data, bundle.Annotations[description] != ""}
}

// decide says what the namespace lacks. wait is how long not to write over what somebody else has made of the bundle.
func decide(s seen, wait time.Duration) (actions []action.Action) {
	if s.namespace.DeletionTimestamp != nil || s.namespace.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	if s.account == nil {
		account := &corev1.ServiceAccount{ObjectMeta: s.meta(DefaultAccount)}
		actions = append(actions, action.Create[*corev1.ServiceAccount]{In: accounts, Object: account, Anybodys: true})
	}
	switch b, next := s.bundle, s.next(); {
	case b == nil:
		bundle := &corev1.ConfigMap{ObjectMeta: s.meta(Bundle), Data: next.Data}
		bundle.Annotations = map[string]string{description: descriptionText}
		actions = append(actions, action.Create[*corev1.ConfigMap]{In: configMaps, Object: bundle, Anybodys: true})
	case b.DeletionTimestamp != nil || equality.Semantic.DeepEqual(saidIn(b), next):
	case wait > 0:
		actions = append(actions, action.Again{After: wait})
	default:
		b = b.DeepCopy()
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, description, descriptionText)
		b.Data = next.Data
		actions = append(actions, action.Update[*corev1.ConfigMap]{In: configMaps, Object: b})
	}
	return actions
}

func (s seen) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace.Name, Name: name}
}
