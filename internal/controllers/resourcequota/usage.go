package resourcequota

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// ofClass is what stands between the name of a storage class and what is counted of its claims.
const ofClass = ".storageclass.storage.k8s.io/"

// countOf is before the name of a resource of which all objects count, whatever state they are in.
const countOf = "count/"

var (
	services = schema.GroupResource{Resource: "services"}
	claims   = schema.GroupResource{Resource: "persistentvolumeclaims"}
)

// countedIn says which objects what a quota limits is counted in. It is false for what nobody counts.
func countedIn(name corev1.ResourceName) (schema.GroupResource, bool) {
	text := string(name)
	counted, isCount := strings.CutPrefix(text, countOf)
	switch {
	case isCount:
		return schema.ParseGroupResource(counted), true
	case strings.Contains(text, ofClass), name == corev1.ResourcePersistentVolumeClaims, name == corev1.ResourceRequestsStorage:
		return claims, true
	case name == corev1.ResourceServices, strings.HasPrefix(text, "services."):
		return services, true
	case name == corev1.ResourceConfigMaps, name == corev1.ResourceSecrets, name == corev1.ResourceReplicationControllers, name == corev1.ResourceQuotas:
		return schema.GroupResource{Resource: text}, true
	case slices.Contains(ofPods, name), strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix), strings.HasPrefix(text, "limits."),
		strings.HasPrefix(text, corev1.ResourceHugePagesPrefix):
		return pods.Resource.GroupResource(), true
	}
	return schema.GroupResource{}, false
}

var ofPods = []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// usage is what one object takes of a quota.
type usage func(name corev1.ResourceName) resource.Quantity

func whole(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// usageOf is that of an object. What it takes beside its being there is known of a few kinds.
func usageOf(obj client.Object, now time.Time) usage {
	var takes usage
	switch obj := obj.(type) {
	case *corev1.Pod:
		takes = usageOfPod(obj, now)
	case *corev1.Service:
		takes = usageOfService(obj)
	case *corev1.PersistentVolumeClaim:
		takes = usageOfClaim(obj)
	default:
		return func(corev1.ResourceName) resource.Quantity { return whole(1) }
	}
	return func(name corev1.ResourceName) resource.Quantity {
		if strings.HasPrefix(string(name), countOf) {
			return whole(1)
		}
		return takes(name)
	}
}

// usageOfPod is what a pod asks for and is limited to, until it has ended, or should have.
func usageOfPod(pod *corev1.Pod, now time.Time) usage {
	if pods.HasEnded(pod) || endsIn(pod, now) < 0 {
		return func(corev1.ResourceName) resource.Quantity { return resource.Quantity{} }
	}
	options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	requests, limits := resourcehelper.PodRequests(pod, options), resourcehelper.PodLimits(pod, options)
	return func(name corev1.ResourceName) resource.Quantity {
		if name == corev1.ResourcePods {
			return whole(1)
		}
		if limited, ok := strings.CutPrefix(string(name), "limits."); ok {
			return limits[corev1.ResourceName(limited)]
		}
		return requests[corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix))]
	}
}

// longest is a time that does not come.
const longest = time.Duration(1<<63 - 1)

// endsIn is after how long a pod that is being deleted counts no more, although nobody says that it has ended.
func endsIn(pod *corev1.Pod, now time.Time) time.Duration {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil || pods.HasEnded(pod) {
		return longest
	}
	return pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second).Sub(now)
}

// usageOfService counts services, and the ports and balancers that some have.
func usageOfService(s *corev1.Service) usage {
	ports, balancers := 0, 0
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(s.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		ports, balancers = len(s.Spec.Ports), 1
		if allocate := s.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			ports = len(slices.DeleteFunc(slices.Clone(s.Spec.Ports), func(p corev1.ServicePort) bool { return p.NodePort == 0 }))
		}
	}
	return func(name corev1.ResourceName) resource.Quantity {
		switch name {
		case corev1.ResourceServicesNodePorts:
			return whole(ports)
		case corev1.ResourceServicesLoadBalancers:
			return whole(balancers)
		}
		return whole(1)
	}
}

// usageOfClaim is how much storage a claim asks for, or has been given if that is more; of a class, if its claim is of it.
func usageOfClaim(c *corev1.PersistentVolumeClaim) usage {
	class := c.Annotations[corev1.BetaStorageClassAnnotation]
	if class == "" && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	storage := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if given, ok := c.Status.AllocatedResources[corev1.ResourceStorage]; ok && given.Cmp(storage) > 0 {
		storage = given
	}
	storage = storage.DeepCopy()
	storage.RoundUp(0)
	return func(name corev1.ResourceName) resource.Quantity {
		text := string(name)
		if of, counted, classed := strings.Cut(text, ofClass); classed {
			if of != class {
				return resource.Quantity{}
			}
			text = counted
		}
		if text == string(corev1.ResourceRequestsStorage) {
			return storage
		}
		return whole(1)
	}
}
