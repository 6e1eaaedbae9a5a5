package plugins_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// TestPodUpdatesFitNodes follows plugin/pkg/admission/podresize and plugin/pkg/admission/nodedeclaredfeatures.
func TestPodUpdatesFitNodes(t *testing.T) {
	t.Parallel()
	nodes := state{{Resource: "nodes"}: {
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "small"},
			Status: corev1.NodeStatus{Allocatable: amounts("cpu=1 memory=1Gi")}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "windows", Labels: map[string]string{"kubernetes.io/os": "windows"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "able"}, Status: corev1.NodeStatus{
			DeclaredFeatures: []string{"InPlacePodLevelResourcesVerticalScaling"}}},
	}}
	pod := func(node, requests string, generation int64) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Spec: corev1.PodSpec{NodeName: node,
			Containers: []corev1.Container{requesting(requests, "")}}}
	}
	resize := func(node, requests string) *admission.Attributes {
		return update("pods", "resize", "default", "p", pod(node, requests, 2), pod(node, "cpu=1", 1))
	}
	whole := func(node string) *admission.Attributes {
		a := resize(node, "cpu=1")
		a.Object.(*corev1.Pod).Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu=2")}
		a.Old.(*corev1.Pod).Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu=1")}
		return a
	}
	unchanged := resize("none", "cpu=2")
	unchanged.Old.(*corev1.Pod).Generation = 2
	for name, c := range map[string]struct {
		plugin admission.Plugin
		write  *admission.Attributes
		want   string
		cause  metav1.CauseType
	}{
		"a pod that fits":          {plugins.ResizePods{}, resize("small", "cpu=1 memory=1Gi"), "", ""},
		"a pod that is too large":  {plugins.ResizePods{}, resize("small", "cpu=1500m memory=2Gi"), "node didn't have enough allocatable resources: cpu, requested: 1500, allocatable: 1000; memory, requested: 2147483648, allocatable: 1073741824", "NodeCapacity"},
		"a node of another system": {plugins.ResizePods{}, resize("windows", "cpu=1"), `pod resize is only supported on linux nodes, node "windows" is "windows"`, "UnsupportedPlatform"},
		"a node that is gone":      {plugins.ResizePods{}, resize("none", "cpu=2"), `node "none" not found`, ""},
		"a pod without a node":     {plugins.ResizePods{}, resize("", "cpu=2"), "", ""},
		"no change":                {plugins.ResizePods{}, unchanged, "", ""},
		"no feature":               {plugins.CheckNodeFeatures{}, resize("none", "cpu=2"), "", ""},
		"a feature":                {plugins.CheckNodeFeatures{}, whole("able"), "", ""},
		"a missing feature":        {plugins.CheckNodeFeatures{}, whole("small"), `pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "small"`, ""},
		"a feature of no node":     {plugins.CheckNodeFeatures{}, whole("none"), `node "none" not found`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !c.plugin.Handles(c.write.Operation, c.write.Resource.GroupResource(), c.write.Subresource) {
				t.Fatal("the plugin does not handle the write")
			}
			err := c.plugin.Validate(context.Background(), c.write, nodes)
			wantForbidden(t, err, `pods "p" is forbidden: `, c.want)
			var status apierrors.APIStatus
			if c.cause != "" && (!errors.As(err, &status) || status.Status().Details.Causes[0].Type != c.cause) {
				t.Errorf("no cause %s in %v", c.cause, err)
			}
		})
	}
}

// TestNamespacesAreProvided checks when the plugin creates a namespace, and what becomes of its errors.
func TestNamespacesAreProvided(t *testing.T) {
	t.Parallel()
	exists := apierrors.NewAlreadyExists(namespaces, "new")
	denied := apierrors.NewForbidden(namespaces, "new", errors.New("no"))
	for name, c := range map[string]struct {
		namespace string
		dryRun    bool
		fails     error
		created   bool
		want      string
	}{
		"an existing namespace":     {"default", false, nil, false, ""},
		"a missing namespace":       {"new", false, nil, true, ""},
		"a dry run":                 {"new", true, nil, false, ""},
		"no namespace":              {"", false, nil, false, ""},
		"another request was first": {"new", false, exists, true, ""},
		"a forbidden namespace":     {"new", false, denied, true, `namespaces "new" is forbidden: no`},
		"a failure":                 {"new", false, errors.New("the disk is full"), true, `configmaps "c" is forbidden: the disk is full`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created := ""
			a := create("configmaps", c.namespace, "c", &corev1.ConfigMap{})
			a.DryRun = c.dryRun
			a.Provision = func(_ context.Context, name string) error {
				created = name
				return c.fails
			}
			err := plugins.ProvisionNamespaces{}.Admit(context.Background(), a,
				state{namespaces: {namespace("default", corev1.NamespaceActive)}})
			wantForbidden(t, err, "", c.want)
			if (created == c.namespace && c.namespace != "") != c.created {
				t.Errorf("created %q", created)
			}
		})
	}
}
