package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/plugins/plugintest"
)

// state is a Reader of a fixed set of objects.
type state = plugintest.State

var (
	namespaces      = schema.GroupResource{Resource: "namespaces"}
	priorityClasses = schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
)

func namespace(name string, phase corev1.NamespacePhase) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NamespaceStatus{Phase: phase}}
}

func priorityClass(name string, value int32, isDefault bool) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value,
		GlobalDefault: isDefault}
}

func create(resource, namespace, name string, obj kind.Object) *admission.Attributes {
	return &admission.Attributes{
		Operation: admission.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: resource},
		Namespace: namespace, Name: name, Object: obj,
	}
}

func admit(s state, a *admission.Attributes) error {
	chain := plugins.NewChain(s, plugins.Settings{}.Select(nil, nil)...)
	if err := chain.Admit(context.Background(), a); err != nil {
		return err
	}
	return chain.Validate(context.Background(), a)
}

// TestErrorsMatchRecordings compares each rejection of the built-in plugins with the response of a real API
// server.
func TestErrorsMatchRecordings(t *testing.T) {
	t.Parallel()
	s := state{namespaces: {namespace("default", corev1.NamespaceActive),
		namespace("team", corev1.NamespaceTerminating)}}
	deletion := create("namespaces", "", "default", nil)
	deletion.Operation, deletion.Old = admission.Delete, namespace("default", corev1.NamespaceActive)
	for _, c := range []struct {
		file  string
		step  int
		write *admission.Attributes
	}{
		{"configmap-write.json", 12, create("configmaps", "nowhere", "b", &corev1.ConfigMap{})},
		{"namespaces.json", 9, create("configmaps", "team", "d", &corev1.ConfigMap{})},
		{"namespaces.json", 12, deletion},
		{"pods.json", 22, create("pods", "default", "bad",
			&corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "none"}})},
	} {
		var status apierrors.APIStatus
		if err := admit(s, c.write); !errors.As(err, &status) {
			t.Errorf("%s[%d]: %v", c.file, c.step, err)
			continue
		}
		got := status.Status()
		got.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		if diff := cmp.Diff(answer(t, c.file, c.step), got); diff != "" {
			t.Errorf("%s[%d]: %s", c.file, c.step, diff)
		}
	}
}

// answer returns the Status of a step of a golden recording.
func answer(t *testing.T, file string, step int) (status metav1.Status) {
	t.Helper()
	data, err := os.ReadFile("../golden/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []struct {
		Response struct{ Body json.RawMessage }
	}
	if err := json.Unmarshal(data, &steps); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(steps[step].Response.Body, &status); err != nil {
		t.Fatal(err)
	}
	return status
}

func TestNamespaceLifecycleAllows(t *testing.T) {
	t.Parallel()
	s := state{namespaces: {namespace("team", corev1.NamespaceTerminating)}}
	update := create("configmaps", "team", "c", &corev1.ConfigMap{})
	update.Operation, update.Old = admission.Update, &corev1.ConfigMap{}
	deletion := create("configmaps", "gone", "c", nil)
	deletion.Operation, deletion.Old = admission.Delete, &corev1.ConfigMap{}
	for name, a := range map[string]*admission.Attributes{
		"an update where the namespace ends": update,
		"a delete in a missing namespace":    deletion,
		"a cluster-scoped object":            create("nodes", "", "n", &corev1.Node{}),
		"a namespace":                        create("namespaces", "", "new", namespace("new", "")),
	} {
		if err := admit(s, a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecondDefaultPriorityClassIsForbidden follows plugin/pkg/admission/priority.
func TestSecondDefaultPriorityClassIsForbidden(t *testing.T) {
	t.Parallel()
	s := state{priorityClasses: {priorityClass("first", 10, true), priorityClass("second", 20, false)}}
	write := func(op admission.Operation, pc *schedulingv1.PriorityClass) error {
		a := create("priorityclasses", "", pc.Name, pc)
		a.Resource.Group, a.Operation = "scheduling.k8s.io", op
		return admit(s, a)
	}
	const refusal = `priorityclasses.scheduling.k8s.io %q is forbidden: PriorityClass first is already marked as default. ` +
		`Only one default can exist`
	for name, err := range map[string]error{
		"third":  write(admission.Create, priorityClass("third", 5, true)),
		"second": write(admission.Update, priorityClass("second", 20, true)),
	} {
		if want := fmt.Sprintf(refusal, name); !apierrors.IsForbidden(err) || err.Error() != want {
			t.Errorf("a second default: %v, want %s", err, want)
		}
	}
	for name, err := range map[string]error{
		"the default stays it": write(admission.Update, priorityClass("first", 10, true)),
		"another class":        write(admission.Create, priorityClass("third", 5, false)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPriority follows plugin/pkg/admission/priority.
func TestPriority(t *testing.T) {
	t.Parallel()
	classes := state{
		namespaces: {namespace("default", corev1.NamespaceActive)},
		priorityClasses: {
			priorityClass("high", 1000, false), priorityClass("usual", 7, true), priorityClass("also", 8, true),
		},
	}
	none := state{namespaces: classes[namespaces]}
	for _, c := range []struct {
		name  string
		state state
		spec  corev1.PodSpec
		class string
		value int32
		fails string
	}{
		{"no class, no default", none, corev1.PodSpec{}, "", 0, ""},
		{"no class, the lowest default", classes, corev1.PodSpec{}, "usual", 7, ""},
		{"a class", classes, corev1.PodSpec{PriorityClassName: "high"}, "high", 1000, ""},
		{"a system class, though none is served", none, corev1.PodSpec{PriorityClassName: "system-node-critical"},
			"system-node-critical", 2000001000, ""},
		{"the other system class", none, corev1.PodSpec{PriorityClassName: "system-cluster-critical"},
			"system-cluster-critical", 2000000000, ""},
		{"the number of the class", classes, corev1.PodSpec{PriorityClassName: "high", Priority: new(int32(1000))},
			"high", 1000, ""},
		{"another number", classes, corev1.PodSpec{PriorityClassName: "high", Priority: new(int32(5))}, "", 0,
			`pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name`},
		{"another policy", none, corev1.PodSpec{PreemptionPolicy: new(corev1.PreemptNever)}, "", 0,
			`pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Spec: c.spec}
			err := admit(c.state, create("pods", "default", "p", pod))
			if c.fails != "" {
				if err == nil || err.Error() != c.fails {
					t.Fatalf("%v, want %s", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := pod.Spec; s.PriorityClassName != c.class || *s.Priority != c.value ||
				*s.PreemptionPolicy != corev1.PreemptLowerPriority {
				t.Errorf("%q %d %s", s.PriorityClassName, *s.Priority, *s.PreemptionPolicy)
			}
		})
	}
}

func TestUpdateRetainsPriority(t *testing.T) {
	t.Parallel()
	pod, old := &corev1.Pod{},
		&corev1.Pod{Spec: corev1.PodSpec{Priority: new(int32(9)), PreemptionPolicy: new(corev1.PreemptNever)}}
	a := create("pods", "default", "p", pod)
	a.Operation, a.Old = admission.Update, old
	if err := admit(state{namespaces: {namespace("default", corev1.NamespaceActive)}}, a); err != nil {
		t.Fatal(err)
	}
	if *pod.Spec.Priority != 9 || *pod.Spec.PreemptionPolicy != corev1.PreemptNever {
		t.Errorf("%+v", pod.Spec)
	}
}

// TestDefaultTolerations follows plugin/pkg/admission/defaulttolerationseconds.
func TestDefaultTolerations(t *testing.T) {
	t.Parallel()
	s := state{namespaces: {namespace("default", corev1.NamespaceActive)}}
	const notReady, unreachable = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
	for _, c := range []struct {
		name  string
		has   []corev1.Toleration
		added []string
	}{
		{"none", nil, []string{notReady, unreachable}},
		{"another taint", []corev1.Toleration{{Key: "k", Operator: "Exists"}}, []string{notReady, unreachable}},
		{"one of them", []corev1.Toleration{{Key: notReady, Operator: "Exists", Effect: "NoExecute"}},
			[]string{unreachable}},
		{"one of them, any effect", []corev1.Toleration{{Key: unreachable, Operator: "Exists"}}, []string{notReady}},
		{"one of them, another effect",
			[]corev1.Toleration{{Key: unreachable, Operator: "Exists", Effect: "NoSchedule"}},
			[]string{notReady, unreachable}},
		{"everything", []corev1.Toleration{{Operator: "Exists"}}, nil},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: c.has}}
		if err := admit(s, create("pods", "default", "p", pod)); err != nil {
			t.Fatal(err)
		}
		var added []string
		for _, t := range pod.Spec.Tolerations[len(c.has):] {
			if t.Effect == corev1.TaintEffectNoExecute && *t.TolerationSeconds == 300 {
				added = append(added, t.Key)
			}
		}
		if diff := cmp.Diff(c.added, added); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestNewNodesAreTainted follows plugin/pkg/admission/nodetaint, and kinds.json[32].
func TestNewNodesAreTainted(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{}
	for range 2 {
		if err := admit(nil, create("nodes", "", "n1", node)); err != nil {
			t.Fatal(err)
		}
	}
	want := []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}}
	if diff := cmp.Diff(want, node.Spec.Taints); diff != "" {
		t.Error(diff)
	}
}

// plugin stands for a plugin that a user of the library adds.
type plugin struct {
	log             *[]string
	admit, validate error
}

func (plugin) Name() string { return "Mine" }
func (plugin) Handles(op admission.Operation, gr schema.GroupResource, _ string) bool {
	return op == admission.Create && gr.Resource == "configmaps"
}
func (p plugin) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	*p.log = append(*p.log, "admit")
	a.Object.SetLabels(map[string]string{"seen": a.User})
	return p.admit
}
func (p plugin) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	*p.log = append(*p.log, "validate "+a.Object.GetLabels()["seen"])
	return p.validate
}

func TestChainCallsPluginsInOrder(t *testing.T) {
	t.Parallel()
	run := func(a *admission.Attributes, all ...admission.Plugin) error {
		chain := plugins.NewChain(nil, all...)
		if err := chain.Admit(t.Context(), a); err != nil {
			return err
		}
		return chain.Validate(t.Context(), a)
	}
	var log []string
	mine := plugin{log: &log}
	a := create("configmaps", "default", "c", &corev1.ConfigMap{})
	a.User = "ann"
	if err := run(a, mine, mine); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(log, ", "); got != "admit, admit, validate ann, validate ann" {
		t.Error(got)
	}
	if err := run(create("secrets", "default", "s", &corev1.Secret{}), mine); err != nil || len(log) != 4 {
		t.Errorf("a plugin was called for an operation that it does not handle: %v %v", err, log)
	}

	mine.validate = a.Forbidden("not on a %s", "Sunday")
	if err := run(a, mine); !apierrors.IsForbidden(err) ||
		err.Error() != `configmaps "c" is forbidden: not on a Sunday` {
		t.Error(err)
	}
	mine.admit = errors.New("my disk is full")
	if err := run(a, mine); !apierrors.IsInternalError(err) ||
		err.Error() != `Internal error occurred: admission plugin "Mine" failed: my disk is full` {
		t.Error(err)
	}
	mine.admit = context.Canceled
	if err := run(a, mine); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
