package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Limited configures what may only be used if a quota limits it.
type Limited struct {
	// Names has, by resource, parts of the names of amounts.
	Names map[schema.GroupResource][]string
	// Scopes must be those of a quota if an object is in them.
	Scopes []corev1.ScopedResourceSelectorRequirement
}

// Needs are the amounts and scopes that the quotas of a namespace must limit for a write to be permitted.
type Needs struct {
	write  *Write
	names  map[corev1.ResourceName]bool
	scopes []corev1.ScopedResourceSelectorRequirement
	// more is set if the write uses more of any amount, or of a quota that did not cover the previous state.
	more bool
}

// NeedsOf returns what quotas must limit for a write; nil if that is nothing.
func (l *Limited) NeedsOf(w *Write) *Needs {
	n := &Needs{write: w, names: map[corev1.ResourceName]bool{}}
	for _, scope := range l.Scopes {
		if isIn(w.Object, scope) {
			n.scopes = append(n.scopes, scope)
		}
	}
	parts := l.Names[w.Resource]
	if len(n.scopes) == 0 && len(parts) == 0 {
		return nil
	}
	now := UsageOf(w.Object, w.Now)
	used := usedNames(w.Resource, w.Object)
	for _, name := range used {
		amount := now(name)
		isPart := func(part string) bool { return strings.Contains(string(name), part) }
		if amount.Sign() > 0 && slices.ContainsFunc(parts, isPart) {
			n.names[name] = true
		}
	}
	if len(n.scopes) == 0 && len(n.names) == 0 {
		return nil
	}
	if n.more = w.Old == nil; !n.more {
		before := UsageOf(w.Old, w.Now)
		n.more = slices.ContainsFunc(used, func(name corev1.ResourceName) bool {
			amount := now(name)
			return amount.Cmp(before(name)) > 0
		})
	}
	return n
}

// Limit removes what a quota limits.
func (n *Needs) Limit(q *corev1.ResourceQuota) {
	for _, has := range scopesOf(q) {
		if isIn(n.write.Object, has) {
			n.scopes = slices.DeleteFunc(n.scopes, func(s corev1.ScopedResourceSelectorRequirement) bool {
				return s.ScopeName == has.ScopeName
			})
		}
	}
	names := n.write.counted(q)
	if len(names) == 0 || !Covers(q, n.write.Object) {
		return
	}
	for _, name := range names {
		delete(n.names, name)
	}
	if n.write.Old != nil && !Covers(q, n.write.Old) {
		n.more = true
	}
}

// Unmet returns, in Kubernetes' words, the amounts and the scopes that no quota limits; both are empty if the write is
// permitted.
func (n *Needs) Unmet() (amounts, scopes string) {
	if !n.more {
		return "", ""
	}
	if len(n.names) > 0 {
		amounts = "insufficient quota to consume: " + joined(slices.Collect(maps.Keys(n.names)))
	}
	if len(n.scopes) > 0 {
		scopes = fmt.Sprintf("insufficient quota to match these scopes: %v", n.scopes)
	}
	return amounts, scopes
}

// usedNames returns the names of all amounts that an object may use.
func usedNames(in schema.GroupResource, obj metav1.Object) []corev1.ResourceName {
	names := []corev1.ResourceName{corev1.ResourceName(countPrefix + in.String())}
	switch obj := obj.(type) {
	case *corev1.Pod:
		return append(names, usedByPod(obj)...)
	case *corev1.Service:
		return append(names, corev1.ResourceServices, corev1.ResourceServicesNodePorts,
			corev1.ResourceServicesLoadBalancers)
	case *corev1.PersistentVolumeClaim:
		names = append(names, corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage)
		if class := storageClass(obj); class != "" {
			names = append(names, corev1.ResourceName(class+classInfix)+corev1.ResourcePersistentVolumeClaims,
				corev1.ResourceName(class+classInfix)+corev1.ResourceRequestsStorage)
		}
		return names
	case *resourcev1.ResourceClaim:
		for _, class := range deviceClasses(obj) {
			names = append(names, corev1.ResourceName(class+corev1.ResourceClaimsPerClass))
		}
		return names
	}
	if alias := corev1.ResourceName(in.Resource); in.Group == "" {
		if counted, ok := CountedResource(alias); ok && counted == in {
			names = append(names, alias)
		}
	}
	return names
}

// usedByPod returns the names of the amounts that a pod may use, except for its number as an object.
func usedByPod(pod *corev1.Pod) []corev1.ResourceName {
	const requests, limits = corev1.DefaultResourceRequestsPrefix, "limits."
	names := slices.Clone(ofPods)
	for _, name := range ofPods {
		if name != corev1.ResourcePods {
			names = append(names, requests+name, limits+name)
		}
	}
	for name := range podRequests(pod) {
		isHuge := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		if isHuge {
			names = append(names, name)
		}
		if isHuge || strings.Contains(string(name), "/") {
			names = append(names, requests+name)
		}
	}
	return names
}

// deviceClasses returns the classes of the devices that a claim requests, perhaps several times.
func deviceClasses(c *resourcev1.ResourceClaim) (classes []string) {
	for _, request := range c.Spec.Devices.Requests {
		if request.Exactly != nil {
			classes = append(classes, request.Exactly.DeviceClassName)
		}
		for _, alternative := range request.FirstAvailable {
			classes = append(classes, alternative.DeviceClassName)
		}
	}
	return classes
}
