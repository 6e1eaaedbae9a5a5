package quota

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"
)

// classInfix separates the name of a storage class from the resource that is counted for its claims.
const classInfix = ".storageclass.storage.k8s.io/"

// countPrefix is the prefix of a resource whose objects all count, whatever their state.
const countPrefix = "count/"

// The resources that a quota may limit by other amounts than their number.
var (
	Pods     = schema.GroupResource{Resource: "pods"}
	Services = schema.GroupResource{Resource: "services"}
	Claims   = schema.GroupResource{Resource: "persistentvolumeclaims"}
	// DeviceClaims are the claims of devices.
	DeviceClaims = schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceclaims"}
)

// Ignores reports whether quotas do not count a resource: events, and what is not stored.
func Ignores(resource schema.GroupResource) bool {
	switch resource.Group {
	case "authentication.k8s.io", "authorization.k8s.io", "events.k8s.io":
		return true
	case "":
		switch resource.Resource {
		case "events", "bindings", "componentstatuses":
			return true
		}
	}
	return false
}

// CountedResource returns the resource of the objects that a quota's resource name counts; false if the name is not
// supported.
func CountedResource(name corev1.ResourceName) (schema.GroupResource, bool) {
	text := string(name)
	counted, isCount := strings.CutPrefix(text, countPrefix)
	switch {
	case isCount:
		resource := schema.ParseGroupResource(counted)
		return resource, !Ignores(resource)
	case strings.Contains(text, classInfix), name == corev1.ResourcePersistentVolumeClaims,
		name == corev1.ResourceRequestsStorage:
		return Claims, true
	case name == corev1.ResourceServices, strings.HasPrefix(text, "services."):
		return Services, true
	case name == corev1.ResourceConfigMaps, name == corev1.ResourceSecrets,
		name == corev1.ResourceReplicationControllers, name == corev1.ResourceQuotas:
		return schema.GroupResource{Resource: text}, true
	case strings.HasSuffix(text, corev1.ResourceClaimsPerClass):
		return DeviceClaims, true
	case slices.Contains(ofPods, name), strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix),
		strings.HasPrefix(text, "limits."),
		strings.HasPrefix(text, corev1.ResourceHugePagesPrefix):
		return Pods, true
	}
	return schema.GroupResource{}, false
}

var ofPods = []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory,
	corev1.ResourceEphemeralStorage}

// Usage returns the amount that an object uses of a resource name. It is for one goroutine, because it may compute on
// its first call.
type Usage func(name corev1.ResourceName) resource.Quantity

func quantityOf(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// UsageOf returns the usage of an object. Kinds other than pods, services and the two kinds of claims count by number
// only.
func UsageOf(obj metav1.Object, now time.Time) Usage {
	var amount Usage
	switch obj := obj.(type) {
	case *corev1.Pod:
		amount = usageOfPod(obj, now)
	case *corev1.Service:
		amount = usageOfService(obj)
	case *corev1.PersistentVolumeClaim:
		amount = usageOfClaim(obj)
	case *resourcev1.ResourceClaim:
		amount = usageOfDevices(obj)
	default:
		return func(corev1.ResourceName) resource.Quantity { return quantityOf(1) }
	}
	return func(name corev1.ResourceName) resource.Quantity {
		if strings.HasPrefix(string(name), countPrefix) {
			return quantityOf(1)
		}
		return amount(name)
	}
}

// usageOfPod returns the requests and limits of a pod; nothing once the pod has ended or its grace period is
// over.
func usageOfPod(pod *corev1.Pod, now time.Time) Usage {
	if hasEnded(pod) || StopsCountingIn(pod, now) < 0 {
		return func(corev1.ResourceName) resource.Quantity { return resource.Quantity{} }
	}
	if isSum(pod) {
		return func(name corev1.ResourceName) resource.Quantity { return sumOfContainers(pod, name) }
	}
	var requests, limits corev1.ResourceList // nil until a name needs them: many quotas need one of them, or none
	return func(name corev1.ResourceName) resource.Quantity {
		if name == corev1.ResourcePods {
			return quantityOf(1)
		}
		if limited, ok := strings.CutPrefix(string(name), "limits."); ok {
			if limits == nil {
				limits = resourcehelper.PodLimits(pod, podOptions())
			}
			return limits[corev1.ResourceName(limited)]
		}
		if requests == nil {
			requests = podRequests(pod)
		}
		return requests[corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix))]
	}
}

// podOptions returns how the requests and limits of a pod are computed.
func podOptions() resourcehelper.PodResourcesOptions {
	return resourcehelper.PodResourcesOptions{UseStatusResources: true}
}

func podRequests(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, podOptions())
}

// isSum reports whether a pod requests what its containers request in total: true for most pods, whose usage is then
// computed without the lists of the general case.
func isSum(pod *corev1.Pod) bool {
	resized := func(s corev1.ContainerStatus) bool { return s.Resources != nil || len(s.AllocatedResources) > 0 }
	return len(pod.Spec.InitContainers) == 0 && len(pod.Spec.Overhead) == 0 && pod.Spec.Resources == nil &&
		pod.Status.Resources == nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, resized)
}

// sumOfContainers returns the usage of a pod of which isSum is true.
func sumOfContainers(pod *corev1.Pod, name corev1.ResourceName) (sum resource.Quantity) {
	if name == corev1.ResourcePods {
		return quantityOf(1)
	}
	of, limited := strings.CutPrefix(string(name), "limits.")
	if !limited {
		of = strings.TrimPrefix(of, corev1.DefaultResourceRequestsPrefix)
	}
	for i := range pod.Spec.Containers {
		amounts := pod.Spec.Containers[i].Resources.Requests
		if limited {
			amounts = pod.Spec.Containers[i].Resources.Limits
		}
		sum.Add(amounts[corev1.ResourceName(of)])
	}
	return sum
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Never is the time until an event that will not occur.
const Never = time.Duration(math.MaxInt64)

// StopsCountingIn returns the time until a terminating pod stops counting, even if no node reports its termination.
func StopsCountingIn(pod *corev1.Pod, now time.Time) time.Duration {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil || hasEnded(pod) {
		return Never
	}
	const longest = int64(Never / time.Second)
	grace := min(max(*pod.DeletionGracePeriodSeconds, 0), longest)
	return pod.DeletionTimestamp.Add(time.Duration(grace) * time.Second).Sub(now)
}

// usageOfService counts services, node ports and load balancers.
func usageOfService(s *corev1.Service) Usage {
	ports, balancers := 0, 0
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(s.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		ports, balancers = len(s.Spec.Ports), 1
		if allocate := s.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			ports = len(slices.DeleteFunc(slices.Clone(s.Spec.Ports), func(p corev1.ServicePort) bool {
				return p.NodePort == 0
			}))
		}
	}
	return func(name corev1.ResourceName) resource.Quantity {
		switch name {
		case corev1.ResourceServicesNodePorts:
			return quantityOf(ports)
		case corev1.ResourceServicesLoadBalancers:
			return quantityOf(balancers)
		}
		return quantityOf(1)
	}
}

// usageOfClaim returns the storage that a claim requests, or has been allocated if that is more, in total and
// by storage class.
func usageOfClaim(c *corev1.PersistentVolumeClaim) Usage {
	class := storageClass(c)
	storage := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if allocated, ok := c.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Cmp(storage) > 0 {
		storage = allocated
	}
	storage = storage.DeepCopy()
	storage.RoundUp(0)
	return func(name corev1.ResourceName) resource.Quantity {
		text := string(name)
		if of, counted, classed := strings.Cut(text, classInfix); classed {
			if of != class {
				return resource.Quantity{}
			}
			text = counted
		}
		if text == string(corev1.ResourceRequestsStorage) {
			return storage
		}
		return quantityOf(1)
	}
}

// storageClass returns the storage class of a claim; empty if it has none.
func storageClass(c *corev1.PersistentVolumeClaim) string {
	class := c.Annotations[corev1.BetaStorageClassAnnotation]
	if class == "" && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	return class
}

// usageOfDevices returns the number of devices of a class that a claim may be allocated. A request for all devices
// counts as the largest number that a claim may have, and one with alternatives as the largest of them.
func usageOfDevices(c *resourcev1.ResourceClaim) Usage {
	return func(name corev1.ResourceName) (sum resource.Quantity) {
		class := strings.TrimSuffix(string(name), corev1.ResourceClaimsPerClass)
		sum.Format = resource.DecimalSI
		for i := range c.Spec.Devices.Requests {
			request := &c.Spec.Devices.Requests[i]
			var most int64
			for _, alternative := range request.FirstAvailable {
				if alternative.DeviceClassName == class {
					most = max(most, devices(alternative.AllocationMode, alternative.Count))
				}
			}
			if e := request.Exactly; len(request.FirstAvailable) == 0 && e != nil && e.DeviceClassName == class {
				most = devices(e.AllocationMode, e.Count)
			}
			sum.Add(*resource.NewQuantity(most, resource.DecimalSI))
		}
		return sum
	}
}

// devices returns the number of devices that a request may be allocated; 0 if its mode is unknown.
func devices(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return count
	case resourcev1.DeviceAllocationModeAll:
		return resourcev1.AllocationResultsMaxSize
	}
	return 0
}
