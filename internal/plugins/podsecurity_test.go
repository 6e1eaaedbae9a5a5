package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// secured returns the namespace default with labels of a list such as "enforce=baseline warn-version=v1.20".
func secured(list string) *corev1.Namespace {
	ns := namespace("default", corev1.NamespaceActive)
	ns.Labels = map[string]string{corev1.LabelMetadataName: "default"}
	for _, pair := range strings.Fields(list) {
		name, value, _ := strings.Cut(pair, "=")
		ns.Labels["pod-security.kubernetes.io/"+name] = value
	}
	return ns
}

// securedPod returns a pod that the level baseline allows if its container is not privileged, and restricted does not.
func securedPod(name string, privileged bool) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i",
			SecurityContext: &corev1.SecurityContext{Privileged: new(privileged)}}}}}
}

// restrictedPod returns a pod that all levels allow.
func restrictedPod() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
	}}
}

// What Kubernetes says of the pods of securedPod.
const (
	notBaseline   = `privileged (container "c" must not set securityContext.privileged=true)`
	notRestricted = `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
)

// securityAnswer returns the warnings and the error of PodSecurity for a write.
func securityAnswer(t *testing.T, a *admission.Attributes, s admission.Reader) (warnings []string, err error) {
	t.Helper()
	p := plugins.PodSecurity{}
	if !p.Handles(a.Operation, a.Resource.GroupResource(), a.Subresource) {
		return nil, nil
	}
	a.Warn = func(text string) { warnings = append(warnings, text) }
	err = p.Validate(t.Context(), a, s)
	return warnings, err
}

// TestPodSecurityOfPods checks the errors and warnings for new pods.
func TestPodSecurityOfPods(t *testing.T) {
	t.Parallel()
	privileged, plain := securedPod("p", true), securedPod("p", false)
	for _, c := range []struct {
		labels    string
		pod       *corev1.Pod
		err, warn string // "" if there is none
	}{
		{"", privileged, "", ""},
		{"enforce=privileged", privileged, "", ""},
		{"enforce=baseline", privileged, `violates PodSecurity "baseline:latest": ` + notBaseline, ""},
		{"enforce=baseline", plain, "", ""},
		{"enforce=restricted", privileged, `violates PodSecurity "restricted:latest": ` + notBaseline + ", " + notRestricted, ""},
		{"enforce=restricted", plain, `violates PodSecurity "restricted:latest": ` + notRestricted, ""},
		{"enforce=restricted", restrictedPod(), "", ""},
		{"enforce=restricted enforce-version=v1.7", plain, `violates PodSecurity "restricted:v1.7": runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`, ""},
		{"enforce=restricted enforce-version=v1.99", plain, `violates PodSecurity "restricted:v1.99": ` + notRestricted, ""},
		{"warn=baseline", privileged, "", `would violate PodSecurity "baseline:latest": ` + notBaseline},
		{"enforce=baseline warn=restricted", plain, "", `would violate PodSecurity "restricted:latest": ` + notRestricted},
		{"enforce=baseline warn=restricted", privileged, `violates PodSecurity "baseline:latest": ` + notBaseline, ""},
		{"enforce=baseline warn=restricted warn-version=v1.7", plain, "", `would violate PodSecurity "restricted:v1.7": runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`},
		{"audit=restricted", privileged, "", ""},
		{"enforce=strict", plain, `violates PodSecurity "restricted:latest": ` + notRestricted, ""},
		{"enforce=baseline enforce-version=new", privileged, `violates PodSecurity "baseline:latest": ` + notBaseline, ""},
		{"warn=strict", privileged, "", ""},
	} {
		warnings, err := securityAnswer(t, create("pods", "default", "p", c.pod), state{namespaces: {secured(c.labels)}})
		wantForbidden(t, err, `pods "p" is forbidden: `, c.err)
		if c.err != "" && !apierrors.IsForbidden(err) {
			t.Errorf("%q: %v, want a 403", c.labels, err)
		}
		if got := strings.Join(warnings, "\n"); got != c.warn {
			t.Errorf("%q: got warnings  %s\nwant %s", c.labels, got, c.warn)
		}
	}
	_, err := securityAnswer(t, create("pods", "default", "p", plain), state{})
	if !apierrors.IsInternalError(err) || !strings.HasSuffix(err.Error(), `failed to lookup namespace "default"`) {
		t.Errorf("no namespace: %v", err)
	}
}

// TestPodSecurityOfUpdates checks that only updates of images, and new containers, are judged.
func TestPodSecurityOfUpdates(t *testing.T) {
	t.Parallel()
	ephemeral := func(name string) corev1.EphemeralContainer {
		return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "i"}}
	}
	change := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := securedPod("p", true)
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("e")}
		change(pod)
		return pod
	}
	for name, c := range map[string]struct {
		sub    string
		change func(*corev1.Pod)
		judged bool
	}{
		"nothing":                {"", func(*corev1.Pod) {}, false},
		"a label":                {"", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
		"an image":               {"", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "j" }, true},
		"another container":      {"", func(p *corev1.Pod) { p.Spec.InitContainers = p.Spec.Containers }, true},
		"an ephemeral container": {"ephemeralcontainers", func(p *corev1.Pod) { p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, ephemeral("f")) }, true},
		"an ephemeral image":     {"ephemeralcontainers", func(p *corev1.Pod) { p.Spec.EphemeralContainers[0].Image = "j" }, true},
		"a size":                 {"resize", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = amounts("cpu=1") }, false},
		"a status":               {"status", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "j" }, false},
	} {
		a := create("pods", "default", "p", change(c.change))
		a.Operation, a.Subresource, a.Old = admission.Update, c.sub, change(func(*corev1.Pod) {})
		_, err := securityAnswer(t, a, state{namespaces: {secured("enforce=baseline")}})
		if apierrors.IsForbidden(err) != c.judged {
			t.Errorf("%s: %v, want a 403: %t", name, err, c.judged)
		}
	}
}

// TestPodSecurityOfTemplates checks that the templates of pods cause warnings and are not rejected.
func TestPodSecurityOfTemplates(t *testing.T) {
	t.Parallel()
	template := corev1.PodTemplateSpec{Spec: securedPod("", true).Spec}
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}}
	for resource, obj := range map[string]kind.Object{
		"podtemplates":           &corev1.PodTemplate{Template: template},
		"replicationcontrollers": &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &template}},
		"daemonsets.apps":        &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: template}},
		"deployments.apps":       deployment,
		"deployments.extensions": deployment,
		"replicasets.apps":       &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template}},
		"statefulsets.apps":      &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: template}},
		"jobs.batch":             &batchv1.Job{Spec: batchv1.JobSpec{Template: template}},
		"cronjobs.batch": &batchv1.CronJob{Spec: batchv1.CronJobSpec{
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
	} {
		name, group, _ := strings.Cut(resource, ".")
		for _, op := range []admission.Operation{admission.Create, admission.Update} {
			a := create(name, "default", "o", obj)
			a.Operation, a.Resource.Group = op, group
			if op == admission.Update {
				a.Old = obj
			}
			warnings, err := securityAnswer(t, a, state{namespaces: {secured("enforce=baseline")}})
			want := []string{`would violate PodSecurity "baseline:latest": ` + notBaseline}
			if err != nil || !slices.Equal(warnings, want) {
				t.Errorf("%s %s: %v, warnings %q", op, resource, err, warnings)
			}
			if warnings, err = securityAnswer(t, a, state{namespaces: {secured("")}}); err != nil || warnings != nil {
				t.Errorf("%s %s without labels: %v, warnings %q", op, resource, err, warnings)
			}
		}
		scale := create(name, "default", "o", obj)
		scale.Resource.Group, scale.Subresource = group, "scale"
		if warnings, err := securityAnswer(t, scale, state{namespaces: {secured("warn=baseline")}}); err != nil || warnings != nil {
			t.Errorf("the scale of %s: %v, warnings %q", resource, err, warnings)
		}
	}
	empty := create("replicationcontrollers", "default", "o", &corev1.ReplicationController{})
	if warnings, err := securityAnswer(t, empty, state{namespaces: {secured("enforce=restricted")}}); err != nil || warnings != nil {
		t.Errorf("no template: %v, warnings %q", err, warnings)
	}
}

// TestPodSecurityValidatesLabels checks the causes of the 422, and that invalid labels that a namespace already has do
// not prevent other changes.
func TestPodSecurityValidatesLabels(t *testing.T) {
	t.Parallel()
	const level, version = "must be one of privileged, baseline, restricted", `must be "latest" or "v1.x"`
	for _, c := range []struct {
		labels, old string
		creates     bool
		want        []string // pairs of a label and the end of its message
	}{
		{"enforce=baseline audit-version=latest warn-version=v1.20", "", true, nil},
		{"enforce=strict warn-version=1.20", "", true, []string{"enforce", level, "warn-version", version}},
		{"audit=Baseline enforce-version=v1.01 audit-version=v2.0 warn=", "", false, []string{"enforce-version", version,
			"audit", level, "audit-version", version, "warn", level}},
		{"enforce=strict", "enforce=strict", false, nil},
		{"enforce=strict", "enforce=stricter", false, []string{"enforce", level}},
		{"enforce=strict audit=baseline", "enforce=strict", false, nil},
		{"", "enforce=strict", false, nil},
	} {
		a := create("namespaces", "", "default", secured(c.labels))
		if !c.creates {
			a.Operation, a.Old = admission.Update, secured(c.old)
		}
		warnings, err := securityAnswer(t, a, state{})
		if len(warnings) > 0 {
			t.Errorf("%q: warnings %q", c.labels, warnings)
		}
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%q after %q: %v", c.labels, c.old, err)
			}
			continue
		}
		var status *apierrors.StatusError
		if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
			t.Errorf("%q after %q: %v, want a 422", c.labels, c.old, err)
			continue
		}
		var want []metav1.StatusCause
		for pair := range slices.Chunk(c.want, 2) {
			name := "pod-security.kubernetes.io/" + pair[0]
			want = append(want, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.labels[" + name + "]",
				Message: fmt.Sprintf("Invalid value: %q: %s", secured(c.labels).Labels[name], pair[1])})
		}
		details := metav1.StatusDetails{Name: "default", Kind: "Namespace", Causes: want}
		if diff := cmp.Diff(&details, status.ErrStatus.Details); diff != "" {
			t.Errorf("%q after %q: %s", c.labels, c.old, diff)
		}
	}
}

// labelling returns an update of the labels of the namespace default.
func labelling(old, now string) *admission.Attributes {
	a := create("namespaces", "", "default", secured(now))
	a.Operation, a.Old = admission.Update, secured(old)
	return a
}

// TestPodSecurityWarnsOfExistingPods checks when the pods of a namespace are checked, and the warnings.
func TestPodSecurityWarnsOfExistingPods(t *testing.T) {
	t.Parallel()
	owned := func(name string, privileged bool, owner types.UID) *corev1.Pod {
		pod := securedPod(name, privileged)
		pod.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
		return pod
	}
	s := state{pods: {securedPod("a", true), owned("b", false, "1"), owned("c", false, "1"), owned("d", true, "2"),
		restrictedPod(), owned("e", false, "1")}}
	violate := func(level string) string {
		return `existing pods in namespace "default" violate the new PodSecurity enforce level "` + level + `"`
	}
	const unrestricted = "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"
	baseline := []string{violate("baseline:latest"), "a (and 1 other pod): privileged"}
	for _, c := range []struct {
		old, now string
		want     []string
	}{
		{"", "enforce=privileged", nil},
		{"", "warn=restricted audit=restricted", nil},
		{"", "enforce-version=v1.20", nil},
		{"enforce=restricted", "enforce=baseline", nil},
		{"enforce=baseline", "enforce=baseline warn=restricted", nil},
		{"", "enforce=baseline", baseline},
		{"enforce=restricted enforce-version=v1.20", "enforce=baseline", baseline},
		{"enforce=baseline", "enforce=restricted", []string{violate("restricted:latest"),
			"a (and 1 other pod): privileged, " + unrestricted, "b (and 2 other pods): " + unrestricted}},
	} {
		got, err := securityAnswer(t, labelling(c.old, c.now), s)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%q, then %q: %v, warnings %s", c.old, c.now, err, diff)
		}
	}
	alone := state{pods: {securedPod("a", true)}}
	if got, _ := securityAnswer(t, labelling("", "enforce=baseline"), alone); len(got) != 2 || got[1] != "a: privileged" {
		t.Errorf("one pod: warnings %q", got)
	}
	if got, _ := securityAnswer(t, labelling("", "enforce=baseline"), state{}); got != nil {
		t.Errorf("no pods: warnings %q", got)
	}
	got, _ := securityAnswer(t, labelling("", "enforce=baseline"), unreadable{})
	if !slices.Equal(got, []string{"failed to list pods while checking new PodSecurity enforce level"}) {
		t.Errorf("unreadable pods: warnings %q", got)
	}
}

// TestPodSecurityChecksAFewThousandPods checks that at most 3,000 pods of a namespace are checked, and among them one
// of each controller.
func TestPodSecurityChecksAFewThousandPods(t *testing.T) {
	t.Parallel()
	s := state{}
	for i := range 4000 {
		pod := securedPod(fmt.Sprintf("p%04d", i), true)
		pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(i % 2 * i)), Controller: new(true)}}
		s[pods] = append(s[pods], pod)
	}
	s[pods][3999].(*corev1.Pod).Spec.HostPID = true // of a controller with one pod
	got, _ := securityAnswer(t, labelling("", "enforce=baseline"), s)
	want := []string{
		"new PodSecurity enforce level only checked against the first 3000 of 4000 existing pods",
		`existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"`,
		"p0000 (and 2998 other pods): privileged",
		"p3999: host namespaces, privileged",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPodSecurityChecksPodsForASecond checks that slow reads of pods do not delay the update of a namespace for long.
func TestPodSecurityChecksPodsForASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got, _ := securityAnswer(t, labelling("", "enforce=baseline"), slowPods{})
		want := "new PodSecurity enforce level only checked against the first 4 of at least 4 existing pods"
		if took := time.Since(start); took != 1200*time.Millisecond || len(got) != 3 || got[0] != want {
			t.Errorf("after %s: warnings %q", took, got)
		}
	})
}

var pods = schema.GroupResource{Resource: "pods"}

// unreadable is a Reader whose objects are damaged.
type unreadable struct{ state }

func (unreadable) List(context.Context, schema.GroupResource, string, func(kind.Object) bool) error {
	return apierrors.NewInternalError(fmt.Errorf("damaged"))
}

// slowPods is a Reader of any number of pods, each of which takes 300 ms.
type slowPods struct{ state }

func (slowPods) List(_ context.Context, _ schema.GroupResource, _ string, yield func(kind.Object) bool) error {
	for i := range 1000 {
		time.Sleep(300 * time.Millisecond)
		if !yield(securedPod(fmt.Sprintf("p%03d", i), true)) {
			break
		}
	}
	return nil
}

// TestPodSecurityIsTraced checks the audit annotations in the request's trace.
func TestPodSecurityIsTraced(t *testing.T) {
	t.Parallel()
	const configuration = `
      apiVersion: pod-security.admission.config.k8s.io/v1
      kind: PodSecurityConfiguration
      exemptions: {usernames: [ann], namespaces: [kube-system], runtimeClasses: [safe]}`
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Spec = securedPod("p", true).Spec
	plain, privileged, safe := securedPod("p", false), securedPod("p", true), securedPod("p", true)
	safe.Spec.RuntimeClassName = new("safe")
	by := func(user string, a *admission.Attributes) *admission.Attributes {
		a.User = user
		return a
	}
	ofApps := create("deployments", "default", "d", deployment)
	ofApps.Resource.Group = "apps"
	for name, c := range map[string]struct {
		labels string
		write  *admission.Attributes
		want   map[string]string
	}{
		"no labels": {"", create("pods", "default", "p", plain), map[string]string{"enforce-policy": "privileged:latest"}},
		"allowed":   {"enforce=baseline", create("pods", "default", "p", plain), map[string]string{"enforce-policy": "baseline:latest"}},
		"rejected": {"enforce=baseline audit=baseline", create("pods", "default", "p", privileged), map[string]string{
			"enforce-policy":   "baseline:latest",
			"audit-violations": `would violate PodSecurity "baseline:latest": ` + notBaseline}},
		"audited": {"audit=baseline", create("pods", "default", "p", privileged), map[string]string{
			"enforce-policy":   "privileged:latest",
			"audit-violations": `would violate PodSecurity "baseline:latest": ` + notBaseline}},
		"a template": {"audit=baseline", ofApps, map[string]string{
			"audit-violations": `would violate PodSecurity "baseline:latest": ` + notBaseline}},
		"a wrong label": {"audit=strict", create("pods", "default", "p", privileged), map[string]string{
			"enforce-policy": "privileged:latest",
			"error":          `Failed to parse policy: metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: "strict": must be one of privileged, baseline, restricted`}},
		"a user":          {"audit=baseline", by("ann", create("pods", "default", "p", privileged)), map[string]string{"exempt": "user"}},
		"a namespace":     {"", create("pods", "kube-system", "p", privileged), map[string]string{"exempt": "namespace"}},
		"a runtime class": {"audit=baseline", create("pods", "default", "p", safe), map[string]string{"exempt": "runtimeClass"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := tracetest.NewSpanRecorder()
			tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("")
			ctx, span := tracer.Start(t.Context(), "request")
			_ = configured(t, "PodSecurity", configuration).Validate(ctx, c.write, state{namespaces: {secured(c.labels)}})
			span.End()
			got := map[string]string{}
			for _, a := range recorder.Ended()[0].Attributes() {
				got[strings.TrimPrefix(string(a.Key), "pod-security.kubernetes.io/")] = a.Value.AsString()
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
