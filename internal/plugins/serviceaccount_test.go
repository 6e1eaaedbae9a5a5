package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
)

var serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}

// accounts returns a state with service accounts of the namespace default.
func accounts(all ...*corev1.ServiceAccount) state {
	var objects []kind.Object
	for _, a := range all {
		a.Namespace = "default"
		objects = append(objects, a)
	}
	return state{serviceAccounts: objects}
}

func account(t testing.TB, name, text string) *corev1.ServiceAccount {
	t.Helper()
	a := &corev1.ServiceAccount{}
	if err := yaml.UnmarshalStrict([]byte(text), a); err != nil {
		t.Fatal(err)
	}
	a.Name = name
	return a
}

func podOf(t testing.TB, text string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	pod.Name = "p"
	return pod
}

// generatedName matches the random part of the name of a generated volume.
var generatedName = regexp.MustCompile(`kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}`)

// TestServiceAccountChangesPods checks what a pod gets from its account: the name, the token and the secrets for
// images. The cases follow plugin/pkg/admission/serviceaccount.
func TestServiceAccountChangesPods(t *testing.T) {
	t.Parallel()
	const (
		mount  = `{name: kube-api-access-*, readOnly: true, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}`
		volume = `{name: kube-api-access-*, projected: {defaultMode: 420, sources: [
			{serviceAccountToken: {expirationSeconds: 3607, path: token}},
			{configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}},
			{downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}}]}}`
		named = `serviceAccountName: default, serviceAccount: default`
		other = `{name: mine, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}`
	)
	for _, c := range []struct{ name, account, pod, want string }{
		{"a pod without an account", `{}`, `{spec: {initContainers: [{name: i}], containers: [{name: c}, {name: d}]}}`,
			`{spec: {` + named + `, initContainers: [{name: i, volumeMounts: [` + mount + `]}],
			containers: [{name: c, volumeMounts: [` + mount + `]}, {name: d, volumeMounts: [` + mount + `]}],
			volumes: [` + volume + `]}}`},
		{"a container mounts something else", `{}`,
			`{spec: {containers: [{name: c, volumeMounts: [` + other + `]}, {name: d}], volumes: [{name: mine}]}}`,
			`{spec: {` + named + `, containers: [{name: c, volumeMounts: [` + other + `]},
			{name: d, volumeMounts: [` + mount + `]}], volumes: [{name: mine}, ` + volume + `]}}`},
		{"all containers mount something else", `{}`, `{spec: {containers: [{name: c, volumeMounts: [` + other + `]}]}}`,
			`{spec: {` + named + `, containers: [{name: c, volumeMounts: [` + other + `]}]}}`},
		{"the pod has the volume", `{}`, `{spec: {containers: [{name: c}], volumes: [{name: kube-api-access-mine}]}}`,
			`{spec: {` + named + `, containers: [{name: c, volumeMounts: [{name: kube-api-access-mine, readOnly: true,
			mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}], volumes: [{name: kube-api-access-mine}]}}`},
		{"the account mounts nothing", `automountServiceAccountToken: false`, `{spec: {containers: [{name: c}]}}`,
			`{spec: {` + named + `, containers: [{name: c}]}}`},
		{"the pod mounts nothing", `automountServiceAccountToken: true`,
			`{spec: {automountServiceAccountToken: false, containers: [{name: c}]}}`,
			`{spec: {` + named + `, automountServiceAccountToken: false, containers: [{name: c}]}}`},
		{"the pod decides", `automountServiceAccountToken: false`,
			`{spec: {automountServiceAccountToken: true, containers: [{name: c}]}}`,
			`{spec: {` + named + `, automountServiceAccountToken: true,
			containers: [{name: c, volumeMounts: [` + mount + `]}], volumes: [` + volume + `]}}`},
		{"secrets for images", `{automountServiceAccountToken: false, imagePullSecrets: [{name: a}, {name: b}]}`,
			`{spec: {containers: [{name: c}]}}`,
			`{spec: {` + named + `, containers: [{name: c}], imagePullSecrets: [{name: a}, {name: b}]}}`},
		{"own secrets for images", `{automountServiceAccountToken: false, imagePullSecrets: [{name: a}]}`,
			`{spec: {containers: [{name: c}], imagePullSecrets: [{name: mine}]}}`,
			`{spec: {` + named + `, containers: [{name: c}], imagePullSecrets: [{name: mine}]}}`},
		{"a mirror pod", `imagePullSecrets: [{name: a}]`,
			`{metadata: {annotations: {kubernetes.io/config.mirror: x}}, spec: {containers: [{name: c}]}}`,
			`{metadata: {annotations: {kubernetes.io/config.mirror: x}}, spec: {containers: [{name: c}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, pod := accounts(account(t, "default", c.account)), podOf(t, c.pod)
			a := create("pods", "default", "p", pod)
			for round := range 2 { // a second round of admission changes nothing
				if err := (plugins.ServiceAccount{}).Admit(t.Context(), a, s); err != nil {
					t.Fatal(err)
				}
				names := map[string]bool{}
				text, err := yaml.Marshal(pod)
				if err != nil {
					t.Fatal(err)
				}
				got := podOf(t, generatedName.ReplaceAllStringFunc(string(text), func(name string) string {
					names[name] = true
					return "kube-api-access-*"
				}))
				if diff := cmp.Diff(podOf(t, c.want), got); diff != "" {
					t.Errorf("round %d (-want +got):\n%s", round, diff)
				}
				if len(names) > 1 {
					t.Errorf("the volume and its mounts have different names: %v", names)
				}
			}
			if err := (plugins.ServiceAccount{}).Validate(t.Context(), a, s); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestServiceAccountRejects checks the messages of Kubernetes (plugin/pkg/admission/serviceaccount).
func TestServiceAccountRejects(t *testing.T) {
	t.Parallel()
	const (
		enforcing = `{metadata: {annotations: {kubernetes.io/enforce-mountable-secrets: "true"}}, secrets: [{name: a}],
			imagePullSecrets: [{name: b}]}`
		refusal = ` is not allowed because service account x does not reference that `
		fromEnv = `env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]`
		from    = `envFrom: [{secretRef: {name: s}}]`
	)
	mirror := func(spec string) string {
		return `{metadata: {annotations: {kubernetes.io/config.mirror: x}}, spec: {` + spec + `}}`
	}
	using := func(spec string) string { return `{spec: {serviceAccountName: x, ` + spec + `}}` }
	for _, c := range []struct{ name, account, pod, want string }{
		{"a missing account", `{}`, `{spec: {serviceAccountName: missing}}`,
			`error looking up service account default/missing: serviceaccount "missing" not found`},
		{"no default account", `{}`, `{}`,
			`error looking up service account default/default: serviceaccount "default" not found`},
		{"a mirror pod with an account", `{}`, mirror(`serviceAccountName: x`),
			"a mirror pod may not reference service accounts"},
		{"a mirror pod with a secret", `{}`, mirror(`containers: [{name: c, ` + from + `}]`),
			"a mirror pod may not reference secrets"},
		{"a mirror pod with a secret variable", `{}`, mirror(`initContainers: [{name: c, ` + fromEnv + `}]`),
			"a mirror pod may not reference secrets"},
		{"a mirror pod with a secret for images", `{}`, mirror(`imagePullSecrets: [{name: s}]`),
			"a mirror pod may not reference secrets"},
		{"a mirror pod with a secret volume", `{}`, mirror(`volumes: [{name: v, secret: {secretName: s}}]`),
			"a mirror pod may not reference secrets"},
		{"a mirror pod with a projected secret", `{}`,
			mirror(`volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]`),
			"a mirror pod may not reference secrets"},
		{"a mirror pod with a driver's secret", `{}`,
			mirror(`volumes: [{name: v, csi: {driver: d, nodePublishSecretRef: {name: s}}}]`),
			"a mirror pod may not reference secrets"},
		{"a mirror pod with a token", `{}`,
			mirror(`volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]`),
			"a mirror pod may not use ServiceAccountToken volume projections"},
		{"a mirror pod", `{}`, mirror(`volumes: [{name: v, configMap: {name: c}}]`), ""},

		{"secrets that the account lists", enforcing, using(`imagePullSecrets: [{name: b}], containers: [{name: c,
			envFrom: [{secretRef: {name: a}}]}], volumes: [{name: v, secret: {secretName: a}}]`), ""},
		{"any secret", `secrets: [{name: a}]`, using(`imagePullSecrets: [{name: s}], containers: [{name: c, ` + from + `}]`), ""},
		{"not enforcing", strings.ReplaceAll(enforcing, `"true"`, `"yes"`), using(`containers: [{name: c, ` + from + `}]`), ""},
		{"a volume", enforcing, using(`volumes: [{name: v, secret: {secretName: s}}]`),
			`volume with secret.secretName="s"` + refusal + `secret`},
		{"an init container's variable", enforcing, using(`initContainers: [{name: i, ` + fromEnv + `}]`),
			`init container i with envVar A referencing secret.secretName="s"` + refusal + `secret`},
		{"an init container's variables", enforcing, using(`initContainers: [{name: i, ` + from + `}]`),
			`init container i with envFrom referencing secret.secretName="s"` + refusal + `secret`},
		{"a container's variable", enforcing, using(`containers: [{name: c, ` + fromEnv + `}]`),
			`container c with envVar A referencing secret.secretName="s"` + refusal + `secret`},
		{"a container's variables", enforcing, using(`containers: [{name: c, ` + from + `}]`),
			`container c with envFrom referencing secret.secretName="s"` + refusal + `secret`},
		{"a secret for images", enforcing, using(`imagePullSecrets: [{name: b}, {name: s}]`),
			`imagePullSecrets[1].name="s"` + refusal + `imagePullSecret`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := accounts(account(t, "x", c.account))
			a := create("pods", "default", "p", podOf(t, c.pod))
			p := plugins.ServiceAccount{}
			wantForbidden(t, p.Admit(t.Context(), a, s), `pods "p" is forbidden: `, c.want)
			// Validate sees what other plugins have changed.
			wantForbidden(t, p.Validate(t.Context(), a, s), `pods "p" is forbidden: `, c.want)
		})
	}
	unnamed := create("pods", "default", "p", podOf(t, `{}`))
	wantForbidden(t, (plugins.ServiceAccount{}).Validate(t.Context(), unnamed, accounts()), `pods "p" is forbidden: `,
		"no service account specified for pod default/p")
}

// TestEphemeralContainersUseListedSecrets checks the updates of pods/ephemeralcontainers. The rejection has no reason,
// because Kubernetes' error has none.
func TestEphemeralContainersUseListedSecrets(t *testing.T) {
	t.Parallel()
	s := accounts(account(t, "x", `{metadata: {annotations: {kubernetes.io/enforce-mountable-secrets: "1"}},
		secrets: [{name: a}]}`), account(t, "free", ""))
	const refusal = ` referencing secret.secretName="s" is not allowed because service account x does not reference that secret`
	for _, c := range []struct {
		name, pod, want string
		code            int32
	}{
		{"a listed secret", `{spec: {serviceAccountName: x, ephemeralContainers: [
			{name: e, envFrom: [{secretRef: {name: a}}]}]}}`, "", 0},
		{"an account without a limit", `{spec: {serviceAccountName: free, ephemeralContainers: [
			{name: e, envFrom: [{secretRef: {name: s}}]}]}}`, "", 0},
		{"a container's own secrets", `{spec: {serviceAccountName: x, containers: [
			{name: c, envFrom: [{secretRef: {name: s}}]}]}}`, "", 0},
		{"variables", `{spec: {serviceAccountName: x, ephemeralContainers: [
			{name: e, envFrom: [{secretRef: {name: s}}]}]}}`,
			"ephemeral container e with envFrom" + refusal, http.StatusInternalServerError},
		{"a variable", `{spec: {serviceAccountName: x, ephemeralContainers: [
			{name: e, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}`,
			"ephemeral container e with envVar A" + refusal, http.StatusInternalServerError},
		{"no account, since the plugin was off", `{spec: {}}`, "", 0},
		{"a missing account", `{spec: {serviceAccountName: missing}}`,
			`pods "p" is forbidden: error looking up service account default/missing: serviceaccount "missing" not found`,
			http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := create("pods", "default", "p", podOf(t, c.pod))
			a.Operation, a.Subresource, a.Old = admission.Update, "ephemeralcontainers", a.Object
			before := a.Object.DeepCopyObject()
			chain := plugins.NewChain(s, plugins.ServiceAccount{})
			if err := chain.Admit(t.Context(), a); err != nil || !cmp.Equal(before, a.Object.DeepCopyObject()) {
				t.Errorf("Admit changed or rejected the update: %v", err)
			}
			err := chain.Validate(t.Context(), a)
			var status apierrors.APIStatus
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &status) || err.Error() != c.want || status.Status().Code != c.code):
				t.Errorf("got  %v\nwant %d %s", err, c.code, c.want)
			}
		})
	}
}

func TestServiceAccountHandlesNewPodsAndEphemeralContainers(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		op       admission.Operation
		resource schema.GroupResource
		sub      string
		want     bool
	}{
		{admission.Create, pods, "", true},
		{admission.Update, pods, "ephemeralcontainers", true},
		{admission.Update, pods, "", false},
		{admission.Update, pods, "status", false},
		{admission.Update, pods, "resize", false},
		{admission.Delete, pods, "", false},
		{admission.Create, pods, "binding", false},
		{admission.Create, schema.GroupResource{Resource: "podtemplates"}, "", false},
		{admission.Create, schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"}, "", false},
	} {
		if got := (plugins.ServiceAccount{}).Handles(c.op, c.resource, c.sub); got != c.want {
			t.Errorf("%s %s/%s: handles %t, want %t", c.op, c.resource, c.sub, got, c.want)
		}
	}
}

// growing is a Reader whose service account appears after a number of changes, each a second later than the one
// before. It counts the reads.
type growing struct {
	state
	account *corev1.ServiceAccount
	changes atomic.Int32 // that are missing until the account exists; negative: there will be none
	pause   time.Duration
	reads   int
}

func (g *growing) Get(ctx context.Context, gr schema.GroupResource, namespace, name string) (kind.Object, error) {
	g.reads++
	if g.changes.Load() == 0 {
		return g.account, nil
	}
	return g.state.Get(ctx, gr, namespace, name)
}

func (g *growing) Changes(gr schema.GroupResource) (<-chan struct{}, error) {
	if gr != serviceAccounts {
		return nil, fmt.Errorf("the plugin waits for %s", gr)
	}
	changed := make(chan struct{})
	if g.changes.Load() > 0 {
		go func() {
			time.Sleep(g.pause)
			g.changes.Add(-1)
			close(changed)
		}()
	}
	return changed, nil
}

// TestPodsWaitForDefaultAccount checks that a pod in a new namespace waits for its account, for as long as in
// Kubernetes, and that no other pod waits.
func TestPodsWaitForDefaultAccount(t *testing.T) {
	t.Parallel()
	const missing = `pods "p" is forbidden: error looking up service account default/%[1]s: serviceaccount "%[1]s" not found`
	for _, c := range []struct {
		name, account string
		changes       int32
		pause         time.Duration
		timeout       time.Duration // of the request
		reads         int
		want          string
		wait          time.Duration
	}{
		{"it exists", "", 0, 0, time.Minute, 1, "", 0},
		{"it appears", "", 3, 200 * time.Millisecond, time.Minute, 5, "", 600 * time.Millisecond},
		{"it appears late", "", 1, time.Second, time.Minute, 3, "", time.Second},
		{"it does not appear", "", -1, 0, time.Minute, 2, fmt.Sprintf(missing, "default"), 1800 * time.Millisecond},
		{"the request ends", "", -1, 0, time.Second, 2, context.DeadlineExceeded.Error(), time.Second},
		{"another account", "other", 1, time.Millisecond, time.Minute, 1, fmt.Sprintf(missing, "other"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &growing{state: state{}, account: account(t, "default", ""), pause: c.pause}
				g.changes.Store(c.changes)
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				start := time.Now()
				a := create("pods", "default", "p", &corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: c.account}})
				err := (plugins.ServiceAccount{}).Admit(ctx, a, g)
				if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if got := time.Since(start); got != c.wait || g.reads != c.reads {
					t.Errorf("waited %s with %d reads, want %s with %d", got, g.reads, c.wait, c.reads)
				}
				synctest.Wait()
			})
		})
	}
}

// BenchmarkServiceAccount admits a pod with two containers.
func BenchmarkServiceAccount(b *testing.B) {
	s := accounts(account(b, "default", ""))
	a := create("pods", "default", "p", nil)
	b.ReportAllocs()
	for b.Loop() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
		pod.Spec.Containers = []corev1.Container{{Name: "c"}, {Name: "d"}}
		a.Object = pod
		if err := (plugins.ServiceAccount{}).Admit(b.Context(), a, s); err != nil {
			b.Fatal(err)
		}
	}
}
