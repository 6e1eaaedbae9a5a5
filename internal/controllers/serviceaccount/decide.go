package serviceaccount

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Names of the objects in each namespace.
const (
	// DefaultAccount is the ServiceAccount of pods that do not name one.
	DefaultAccount = "default"
	// Bundle is the ConfigMap with the server's CA certificates, in its key "ca.crt".
	Bundle = "kube-root-ca.crt"
)

// description is the annotation that describes the ConfigMap to users. Its text is Kubernetes'.
const (
	description     = "kubernetes.io/description"
	descriptionText = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal " +
		"service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

// input is the input of a decision. account and bundle are nil if they do not exist.
type input struct {
	namespace *corev1.Namespace
	account   *corev1.ServiceAccount
	bundle    *corev1.ConfigMap
	// authority has the server's CA certificates; empty if they are unknown.
	authority string
}

// next returns the desired content of the bundle. If the certificates are unknown, existing content stays.
func (s input) next() bundleContent {
	if s.authority == "" && s.bundle != nil {
		return contentOf(s.bundle)
	}
	return bundleContent{map[string]string{"ca.crt": s.authority}, true}
}

// bundleContent is the content of a bundle: the certificates, and whether it has a description.
type bundleContent struct {
	Data      map[string]string
	Described bool
}

func contentOf(bundle *corev1.ConfigMap) bundleContent {
	return bundleContent{bundle.Data, bundle.Annotations[description] != ""}
}

// decide returns the actions for a namespace. While wait is positive, a bundle that another client has changed
// is not overwritten.
func decide(s input, wait time.Duration) (actions []action.Action) {
	if s.namespace.DeletionTimestamp != nil || s.namespace.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	if s.account == nil {
		account := &corev1.ServiceAccount{ObjectMeta: s.meta(DefaultAccount)}
		actions = append(actions, action.Create[*corev1.ServiceAccount]{Resource: accounts, Object: account,
			AcceptExisting: true})
	}
	switch b, next := s.bundle, s.next(); {
	case b == nil:
		bundle := &corev1.ConfigMap{ObjectMeta: s.meta(Bundle), Data: next.Data}
		bundle.Annotations = map[string]string{description: descriptionText}
		actions = append(actions, action.Create[*corev1.ConfigMap]{Resource: configMaps, Object: bundle,
			AcceptExisting: true})
	case b.DeletionTimestamp != nil || equality.Semantic.DeepEqual(contentOf(b), next):
	case wait > 0:
		actions = append(actions, action.Requeue{After: wait})
	default:
		b = b.DeepCopy()
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, description, descriptionText)
		b.Data = next.Data
		actions = append(actions, action.Update[*corev1.ConfigMap]{Resource: configMaps, Object: b})
	}
	return actions
}

func (s input) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace.Name, Name: name}
}
