package clientgo

import (
	corev1 "k8s.io/api/core/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// coreKinds returns the kinds of the core group.
func coreKinds(c kubernetes.Interface) []kindUnderTest {
	return append(coreKindsWithSpec(c),
		typedKind[*corev1.ConfigMap, *corev1.ConfigMapList, *applycore.ConfigMapApplyConfiguration]{
			client:  c.CoreV1().ConfigMaps(ns),
			example: &corev1.ConfigMap{Data: map[string]string{"k": "v"}},
			declare: func(name string) *applycore.ConfigMapApplyConfiguration {
				return applycore.ConfigMap(name, ns).WithAnnotations(declared)
			},
			extract: applycore.ExtractConfigMap,
		},
		typedKind[*corev1.Secret, *corev1.SecretList, *applycore.SecretApplyConfiguration]{
			client:  c.CoreV1().Secrets(ns),
			example: &corev1.Secret{Data: map[string][]byte{"k": []byte("v")}},
			declare: func(name string) *applycore.SecretApplyConfiguration {
				return applycore.Secret(name, ns).WithAnnotations(declared)
			},
			extract: applycore.ExtractSecret,
		},
		typedKind[*corev1.ServiceAccount, *corev1.ServiceAccountList, *applycore.ServiceAccountApplyConfiguration]{
			client:  c.CoreV1().ServiceAccounts(ns),
			example: &corev1.ServiceAccount{},
			declare: func(name string) *applycore.ServiceAccountApplyConfiguration {
				return applycore.ServiceAccount(name, ns).WithAnnotations(declared)
			},
			extract: applycore.ExtractServiceAccount,
		},
		typedKind[*corev1.Event, *corev1.EventList, *applycore.EventApplyConfiguration]{
			client:  c.CoreV1().Events(ns),
			example: &corev1.Event{InvolvedObject: corev1.ObjectReference{Namespace: ns}, Reason: "Tried"},
			declare: func(name string) *applycore.EventApplyConfiguration {
				return applycore.Event(name, ns).WithAnnotations(declared).WithReason("Tried").
					WithInvolvedObject(applycore.ObjectReference().WithNamespace(ns))
			},
			extract: applycore.ExtractEvent,
		})
}

func coreKindsWithSpec(c kubernetes.Interface) []kindUnderTest {
	port := corev1.ServicePort{Port: 80}
	return []kindUnderTest{
		typedKind[*corev1.Namespace, *corev1.NamespaceList, *applycore.NamespaceApplyConfiguration]{
			client: c.CoreV1().Namespaces(), status: true, one: true,
			example: &corev1.Namespace{},
			declare: func(name string) *applycore.NamespaceApplyConfiguration {
				return applycore.Namespace(name).WithAnnotations(declared)
			},
			extract: applycore.ExtractNamespace,
		},
		typedKind[*corev1.Node, *corev1.NodeList, *applycore.NodeApplyConfiguration]{
			client: c.CoreV1().Nodes(), status: true,
			example: &corev1.Node{},
			declare: func(name string) *applycore.NodeApplyConfiguration {
				return applycore.Node(name).WithAnnotations(declared)
			},
			extract: applycore.ExtractNode,
		},
		typedKind[*corev1.Pod, *corev1.PodList, *applycore.PodApplyConfiguration]{
			client: c.CoreV1().Pods(ns), status: true,
			example: &corev1.Pod{Spec: podSpec()},
			declare: func(name string) *applycore.PodApplyConfiguration {
				return applycore.Pod(name, ns).WithAnnotations(declared).WithSpec(applyPodSpec())
			},
			extract: applycore.ExtractPod,
		},
		typedKind[*corev1.Service, *corev1.ServiceList, *applycore.ServiceApplyConfiguration]{
			client: c.CoreV1().Services(ns), status: true,
			example: &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}}},
			declare: func(name string) *applycore.ServiceApplyConfiguration {
				return applycore.Service(name, ns).WithAnnotations(declared).
					WithSpec(applycore.ServiceSpec().WithPorts(applycore.ServicePort().WithPort(80)))
			},
			extract: applycore.ExtractService,
		},
	}
}
