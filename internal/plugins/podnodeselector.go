package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// namespaceSelector is the annotation with the labels of the nodes for the pods of a namespace.
const namespaceSelector = "scheduler.alpha.kubernetes.io/node-selector"

// defaultSelector is the entry of nodeSelectors for namespaces without an annotation.
const defaultSelector = "clusterDefaultNodeSelector"

// nodeSelectors is the configuration of SelectNodes, in Kubernetes' format: the labels of the nodes that the pods of
// each namespace may select, such as env=test,zone=a.
type nodeSelectors struct {
	Selectors map[string]string `json:"podNodeSelectorPluginConfig"`
}

// SelectNodes adds the node selector of their namespace to new pods (Kubernetes' PodNodeSelector). It is off by
// default.
type SelectNodes struct{ selectors map[string]string }

// Name implements admission.Plugin.
func (SelectNodes) Name() string { return "PodNodeSelector" }

// Handles implements admission.Plugin.
func (SelectNodes) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == pods && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin.
func (p SelectNodes) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	selector, err := p.checked(ctx, a, state)
	if pod, ok := a.Object.(*corev1.Pod); ok && err == nil {
		pod.Spec.NodeSelector = labels.Merge(selector, pod.Spec.NodeSelector)
		err = p.check(a, pod, selector)
	}
	return err
}

// Validate implements admission.Plugin.
func (p SelectNodes) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	_, err := p.checked(ctx, a, state)
	return err
}

// checked returns the labels of the nodes for a new pod, and an error if the pod may not run there.
func (p SelectNodes) checked(ctx context.Context, a *admission.Attributes, state admission.Reader) (labels.Set, error) {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	selector, err := p.selectorOf(ctx, a, state)
	if err == nil {
		err = p.check(a, pod, selector)
	}
	return selector, err
}

// selectorOf returns the labels of the nodes for the pods of the namespace.
func (p SelectNodes) selectorOf(ctx context.Context, a *admission.Attributes, state admission.Reader) (
	labels.Set, error) {
	ns, err := namespaceOf(ctx, a, state)
	if err != nil {
		return nil, err
	}
	text, annotated := ns.Annotations[namespaceSelector]
	if !annotated {
		text = p.selectors[defaultSelector]
	}
	selector, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, unknownError("%v", err)
	}
	return selector, nil
}

// namespaceOf returns the namespace of a write, or a 404.
func namespaceOf(ctx context.Context, a *admission.Attributes, state admission.Reader) (*corev1.Namespace, error) {
	obj, err := state.Get(ctx, namespaces, "", a.Namespace)
	if err != nil {
		return nil, err
	}
	ns, ok := obj.(*corev1.Namespace)
	if !ok || ns == nil {
		return nil, apierrors.NewNotFound(namespaces, a.Namespace)
	}
	return ns, nil
}

// check rejects a pod that selects other nodes than its namespace, or labels that its namespace may not select.
func (p SelectNodes) check(a *admission.Attributes, pod *corev1.Pod, selector labels.Set) error {
	if labels.Conflicts(selector, pod.Spec.NodeSelector) {
		return a.Forbidden("pod node label selector conflicts with its namespace node label selector")
	}
	permitted, err := labels.ConvertSelectorToLabelsMap(p.selectors[a.Namespace])
	if err != nil {
		return unknownError("%v", err)
	}
	for key, value := range pod.Spec.NodeSelector {
		if found, has := permitted[key]; len(permitted) > 0 && (!has || found != value) {
			return a.Forbidden("pod node label selector labels conflict with its namespace whitelist")
		}
	}
	return nil
}
