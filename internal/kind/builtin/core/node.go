package core

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// nodes is a typed kind whose creates may set the status, because a node registers itself with its capacity.
type nodes struct {
	*kind.Typed[corev1.Node, *corev1.Node]
}

func nodeKind(cache *object.Cache) kind.Kind {
	return nodes{kind.NewTyped(cache, kind.Info{
		Kind: "Node", Plural: "nodes", Singular: "node", ShortNames: []string{"no"},
		Endpoints: []kind.Endpoint{{Version: "v1", Selectable: map[string]string{"spec.unschedulable": ""},
			NoNamespaceSelector: true}},
		Subresources: []kind.Subresource{
			proxy("NodeProxyOptions"),
			{Name: "status", Verbs: []string{"get", "patch", "update"}},
		},
	}, kind.Rules[*corev1.Node]{
		Default:  defaultNode,
		Validate: validateNode,
		Warnings: nodeWarnings,
		Fields: func(n *corev1.Node) map[string]string {
			return map[string]string{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
		},
		Columns: nodeColumns,
		Row:     nodeRow,
	})}
}

// Prepare implements kind.Kind.
func (k nodes) Prepare(obj, old kind.Object, sub string) {
	node := obj.(*corev1.Node)
	status := node.Status
	k.Typed.Prepare(obj, old, sub)
	was := &corev1.Node{}
	if old == nil {
		node.Status = status
	} else {
		was = old.(*corev1.Node)
	}
	dropNodeFields(node, was)
}

// dropNodeFields drops the fields that Kubernetes 1.37 drops unless the old node has them: two of a removed feature,
// and one behind the feature gate InPlacePodVerticalScalingSchedulerPreemption, which is off.
func dropNodeFields(n, old *corev1.Node) {
	if configSourceOf(old) == nil {
		n.Spec.ConfigSource = nil //lint:ignore SA1019 old clients may send it
	}
	if old.Status.Config == nil {
		n.Status.Config = nil
	}
	if old.Spec.PodPreemptionPolicy == nil {
		n.Spec.PodPreemptionPolicy = nil
	}
}

// defaultNode sets allocatable to the capacity, and synchronizes the singular and plural fields for pod
// CIDRs: if the singular one is set, it determines the first of the plural.
func defaultNode(n *corev1.Node) {
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	spec := &n.Spec
	switch {
	case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
		spec.PodCIDRs = []string{spec.PodCIDR}
	case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
		spec.PodCIDR = spec.PodCIDRs[0]
	}
}

func nodeWarnings(n, _ *corev1.Node) (warnings []string) {
	if configSourceOf(n) != nil {
		warnings = append(warnings, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range n.Spec.PodCIDRs {
		warnings = append(warnings, validation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
	}
	return warnings
}

// configSourceOf returns a field without effect that Kubernetes still accepts and validates.
func configSourceOf(n *corev1.Node) *corev1.NodeConfigSource {
	return n.Spec.ConfigSource //lint:ignore SA1019 old nodes may carry it
}

var nodeColumns = func() []metav1.TableColumnDefinition {
	info, status := corev1.NodeSystemInfo{}.SwaggerDoc(), corev1.NodeStatus{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		textColumn("Status", "The status of the node", 0),
		textColumn("Roles", "The roles of the node", 0),
		kind.AgeColumn,
		textColumn("Version", info["kubeletVersion"], 0),
		textColumn("Internal-IP", status["addresses"], 1),
		textColumn("External-IP", status["addresses"], 1),
		textColumn("OS-Image", info["osImage"], 1),
		textColumn("Kernel-Version", info["kernelVersion"], 1),
		textColumn("Container-Runtime", info["containerRuntimeVersion"], 1),
	}
}()

func nodeRow(n *corev1.Node, now time.Time) []any {
	orUnknown := func(s string) string { return cmp.Or(s, "<unknown>") }
	info := &n.Status.NodeInfo
	return []any{
		n.Name, nodeReadiness(n), nodeRoles(n), kind.Age(n.CreationTimestamp.Time, now), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orUnknown(info.OSImage), orUnknown(info.KernelVersion), orUnknown(info.ContainerRuntimeVersion),
	}
}

func nodeReadiness(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// Labels for the role of a node: the role is the suffix of the key, or the value of the older label.
const (
	roleLabelPrefix = "node-role.kubernetes.io/"
	roleLabel       = "kubernetes.io/role"
)

func nodeRoles(n *corev1.Node) string {
	roles := map[string]bool{}
	for key, value := range n.Labels {
		if role, ok := strings.CutPrefix(key, roleLabelPrefix); ok && role != "" {
			roles[role] = true
		} else if key == roleLabel && value != "" {
			roles[value] = true
		}
	}
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(roles)), ","), nothing)
}

func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == t {
			return a.Address
		}
	}
	return nothing
}
