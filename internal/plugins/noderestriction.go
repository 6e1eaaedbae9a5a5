package plugins

import (
	"context"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bowline-dev/bowline/admission"
)

var (
	accounts       = schema.GroupResource{Resource: "serviceaccounts"}
	leases         = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
	csiNodes       = schema.GroupResource{Group: storagev1.GroupName, Resource: "csinodes"}
	resourceSlices = schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceslices"}
	podRequests    = schema.GroupResource{Group: certificatesv1.GroupName, Resource: "podcertificaterequests"}
)

// nodeUser is the prefix of the name of a node's agent, before the name of the node.
const nodeUser = "system:node:"

// RestrictNodes limits what the agent of a node, a user system:node:NAME in the group system:nodes, may write: the Node
// itself, the pods that are bound to it, and what belongs to them (Kubernetes' NodeRestriction). It is off by default.
type RestrictNodes struct{}

// Name implements admission.Plugin.
func (RestrictNodes) Name() string { return "NodeRestriction" }

// Handles implements admission.Plugin.
func (RestrictNodes) Handles(op admission.Operation, resource schema.GroupResource, _ string) bool {
	if op != admission.Create && op != admission.Update && op != admission.Delete {
		return false
	}
	switch resource {
	case pods, nodes, volumeClaims, accounts, leases, csiNodes, resourceSlices, signingRequests, podRequests:
		return true
	}
	return false
}

// Validate implements admission.Plugin.
func (RestrictNodes) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Admit implements admission.Plugin.
func (RestrictNodes) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	name, isAgent := strings.CutPrefix(a.User, nodeUser)
	if !isAgent || !slices.Contains(a.Groups, user.NodesGroup) {
		return nil
	}
	if name == "" {
		return a.Forbidden("could not determine node from user %q", a.User)
	}
	n := nodeWrite{Attributes: a, node: name, state: state}
	switch a.Resource.GroupResource() {
	case pods:
		return n.checkPod(ctx)
	case nodes:
		return n.checkNode()
	case volumeClaims:
		return n.checkClaim()
	case accounts:
		return n.checkToken(ctx)
	case podRequests:
		return n.checkPodCertificate(ctx)
	case leases:
		return n.checkLease()
	case csiNodes:
		return n.checkCSINode()
	case resourceSlices:
		return n.checkSlice()
	case signingRequests:
		return n.checkSigningRequest()
	}
	return nil
}

// nodeWrite is a write of a node's agent.
type nodeWrite struct {
	*admission.Attributes
	node  string
	state admission.Reader
}

// unexpectedType returns the error for an object of another type than its resource has.
func (n nodeWrite) unexpectedType(obj admission.Object) error {
	return n.Forbidden("unexpected type %T", obj)
}

// checkNode lets an agent write only its own node, and not what would attract the workloads of others.
func (n nodeWrite) checkNode() error {
	if n.Name != n.node {
		return n.Forbidden("node %q is not allowed to modify node %q", n.node, n.Name)
	}
	if n.Operation == admission.Delete {
		return nil
	}
	node, ok := n.Object.(*corev1.Node)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	if n.Operation == admission.Create {
		//lint:ignore SA1019 Kubernetes still rejects it
		if node.Spec.ConfigSource != nil {
			return n.Forbidden("node %q is not allowed to create pods with a non-nil configSource", n.node)
		}
		if labels := reservedLabels(node.Labels, nil); len(labels) > 0 {
			return n.Forbidden("node %q is not allowed to set the following labels: %s", n.node, strings.Join(labels, ", "))
		}
		return nil
	}
	old, ok := n.Old.(*corev1.Node)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	//lint:ignore SA1019 Kubernetes still rejects it
	if node.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(node.Spec.ConfigSource, old.Spec.ConfigSource) {
		return n.Forbidden("node %q is not allowed to update configSource to a new non-nil configSource", n.node)
	}
	if !equality.Semantic.DeepEqual(node.Spec.Taints, old.Spec.Taints) {
		return n.Forbidden("node %q is not allowed to modify taints", n.node)
	}
	if !equality.Semantic.DeepEqual(node.OwnerReferences, old.OwnerReferences) {
		return n.Forbidden("node %q is not allowed to modify ownerReferences", n.node)
	}
	if labels := reservedLabels(node.Labels, old.Labels); len(labels) > 0 {
		return n.Forbidden("is not allowed to modify labels: %s", strings.Join(labels, ", "))
	}
	return nil
}

// agentLabels lists the labels of the project Kubernetes that agents set.
var agentLabels = []string{
	corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
	corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable,
	corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// reservedLabels returns the sorted keys of the labels that differ from those before and that an agent may not change.
func reservedLabels(labels, before map[string]string) (reserved []string) {
	for key, value := range labels {
		if was, had := before[key]; (!had || was != value) && isReserved(key) {
			reserved = append(reserved, key)
		}
	}
	for key := range before {
		if _, has := labels[key]; !has && isReserved(key) {
			reserved = append(reserved, key)
		}
	}
	slices.Sort(reserved)
	return reserved
}

// isReserved reports whether an agent may not change a label: one of the project Kubernetes that agents do not set.
func isReserved(key string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	if !qualified {
		return false
	}
	in := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	switch {
	case in(corev1.LabelNamespaceNodeRestriction):
		return true
	case !in("kubernetes.io") && !in("k8s.io"):
		return false
	}
	return !slices.Contains(agentLabels, key) && !in(corev1.LabelNamespaceSuffixKubelet) &&
		!in(corev1.LabelNamespaceSuffixNode)
}

// maxDifference is the size in bytes of claims that an error compares line by line, which takes quadratic time.
const maxDifference = 16 << 10

// checkClaim lets an agent set the capacity, the conditions and the progress of a resize in the status of a claim.
func (n nodeWrite) checkClaim() error {
	if n.Subresource != "status" {
		return n.Forbidden("may only update PVC status")
	}
	if n.Operation != admission.Update {
		return n.Forbidden("unexpected operation %q", n.Operation)
	}
	old, ok := n.Old.(*corev1.PersistentVolumeClaim)
	if !ok {
		return n.unexpectedType(n.Old)
	}
	claim, ok := n.Object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	before, after := withoutResize(old), withoutResize(claim)
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	difference := "the claims are too large to be compared here"
	if before.Size()+after.Size() <= maxDifference {
		difference = diff.Diff(before, after)
	}
	return n.Forbidden("node %q is not allowed to update fields other than status.quantity and status.conditions: %v",
		n.node, difference)
}

// withoutResize returns a claim without the fields that an agent may set and those that every write changes.
func withoutResize(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	rest := *claim
	rest.ResourceVersion, rest.ManagedFields = "", nil
	rest.Status.Capacity, rest.Status.Conditions = nil, nil
	rest.Status.AllocatedResources, rest.Status.AllocatedResourceStatuses = nil, nil
	return &rest
}

// checkLease lets an agent write only the lease of its node.
func (n nodeWrite) checkLease() error {
	if n.Namespace != corev1.NamespaceNodeLease {
		return n.Forbidden("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	if n.Name != n.node {
		return n.Forbidden("can only access node lease with the same name as the requesting node")
	}
	return nil
}

// checkCSINode lets an agent write only the CSINode of its node.
func (n nodeWrite) checkCSINode() error {
	if n.Name != n.node {
		return n.Forbidden("can only access CSINode with the same name as the requesting node")
	}
	if n.Subresource == "status" {
		return n.Forbidden("CSIVolumeHealth feature gate is disabled")
	}
	return nil
}

// checkSlice lets an agent create and delete only the slices of its node. An update cannot change the node of a slice.
func (n nodeWrite) checkSlice() error {
	verb, obj := "create", n.Object
	switch n.Operation {
	case admission.Update:
		return nil
	case admission.Delete:
		verb, obj = "delete", n.Old
	}
	slice, ok := obj.(*resourcev1.ResourceSlice)
	if !ok {
		return n.unexpectedType(obj)
	}
	if slice.Spec.NodeName == nil || *slice.Spec.NodeName != n.node {
		return n.Forbidden("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	return nil
}

// checkSigningRequest lets an agent request certificates of nodes only for its own.
func (n nodeWrite) checkSigningRequest() error {
	if n.Operation != admission.Create {
		return nil
	}
	csr, ok := n.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	switch csr.Spec.SignerName {
	case certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName:
	default:
		return nil
	}
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return n.Forbidden("unable to parse csr: %w", err)
	}
	if request.Subject.CommonName != nodeUser+n.node {
		return n.Forbidden("can only create a node CSR with CN=%s%s", nodeUser, n.node)
	}
	return nil
}
