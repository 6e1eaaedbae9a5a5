package plugins_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// configuration writes an AdmissionConfiguration with one plugin, whose configuration is indented by six spaces, and
// returns the file.
func configuration(t *testing.T, name, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "admission.yaml")
	writeFile(t, file, "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n  - name: "+name+
		"\n    configuration:\n"+config)
	return file
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configured returns a plugin with a configuration.
func configured(t *testing.T, name, config string) admission.Plugin {
	t.Helper()
	list := []string{name}
	settings, err := plugins.ReadSettings(configuration(t, name, config), list)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range settings.Select(list, nil) {
		if p.Name() == name {
			return p
		}
	}
	t.Fatalf("%s does not run", name)
	return nil
}

const eventLimits = `
      apiVersion: eventratelimit.admission.k8s.io/v1alpha1
      kind: Configuration
      limits:
`

// TestWrongSettings checks that an error names the file and the field.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
	plugin := func(name, config string) string {
		return head + "plugins:\n  - name: " + name + "\n    configuration:\n" + config
	}
	for name, c := range map[string]struct{ text, want string }{
		"no version":           {"kind: AdmissionConfiguration", `FILE: apiVersion: Unsupported value: "": supported values: "apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"`},
		"another kind":         {"apiVersion: apiserver.config.k8s.io/v1\nkind: Pod", `FILE: kind: Unsupported value: "Pod": supported values: "AdmissionConfiguration"`},
		"no YAML":              {"a: [", "FILE: yaml: line 1: did not find expected node content"},
		"an unknown field":     {head + "plugins:\n- nme: x", `FILE: unknown field "plugins[0].nme"`},
		"a duplicate field":    {head + "plugins: []\nplugins: []", "FILE: yaml: unmarshal errors:\n  line 4: key \"plugins\" already set in map"},
		"two documents":        {head + "---\na: b", "FILE: the file has more than one document"},
		"a large file":         {strings.Repeat("#", 1<<20+1), "FILE: the file has more than 1048576 bytes"},
		"an unknown plugin":    {head + "plugins:\n- name: Nobody", `FILE: plugins[0].name: Unsupported value: "Nobody": supported values: `},
		"a plugin twice":       {plugin("EventRateLimit", eventLimits+"      - {type: Server, qps: 1, burst: 1}") + "\n  - name: EventRateLimit", `FILE: plugins[1].name: Duplicate value: "EventRateLimit"`},
		"not configurable":     {plugin("LimitRanger", "      a: b"), "FILE: plugins[0].configuration: the plugin LimitRanger cannot be configured"},
		"a limited nothing":    {plugin("ResourceQuota", "      apiVersion: apiserver.config.k8s.io/v1\n      kind: ResourceQuotaConfiguration\n      limitedResources: [{apiGroup: apps}]"), "FILE: plugins[0].configuration: limitedResources[0].resource: Required value"},
		"quotas of a kind":     {plugin("ResourceQuota", "      apiVersion: apiserver.config.k8s.io/v1\n      kind: Configuration"), `FILE: plugins[0].configuration: kind: Unsupported value: "Configuration": supported values: "ResourceQuotaConfiguration"`},
		"no configuration":     {head + "plugins:\n- name: EventRateLimit", "the admission plugin EventRateLimit needs a configuration: add it to an AdmissionConfiguration and name the file"},
		"a missing file":       {head + "plugins:\n- {name: EventRateLimit, path: none.yaml}", "FILE: plugins[0].path: no such file or directory"},
		"no limits":            {plugin("EventRateLimit", strings.TrimRight(eventLimits, "\n")+" []"), "FILE: plugins[0].configuration: limits: Invalid value: []: must not be empty"},
		"a field of a limit":   {plugin("EventRateLimit", eventLimits+"      - {type: Server, qps: 1, burst: 1, size: 1}"), `FILE: plugins[0].configuration: unknown field "limits[0].size"`},
		"wrong limits":         {plugin("EventRateLimit", eventLimits+"      - {type: Pod, cacheSize: -1}"), `FILE: plugins[0].configuration: [limits[0].type: Unsupported value: "Pod": supported values: "Server", "Namespace", "User", "SourceAndObject", limits[0].burst: Invalid value: 0: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative]`},
		"a wrong level":        {plugin("PodSecurity", "      apiVersion: pod-security.admission.config.k8s.io/v1\n      kind: PodSecurityConfiguration\n      defaults: {enforce: strict, warn-version: 1}"), `FILE: plugins[0].configuration: json: cannot unmarshal number into Go struct field .defaults.warn-version of type string`},
		"wrong levels":         {plugin("PodSecurity", "      apiVersion: pod-security.admission.config.k8s.io/v1\n      kind: PodSecurityConfiguration\n      defaults: {enforce: strict, warn-version: one}\n      exemptions: {namespaces: [a, a, B], usernames: ['']}"), `FILE: plugins[0].configuration: [defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted, defaults.warn-version: Invalid value: "one": must be "latest" or "v1.x", exemptions.namespaces[1]: Duplicate value: "a", exemptions.namespaces[2]: Invalid value: "B": `},
		"a toleration":         {plugin("PodTolerationRestriction", "      apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\n      kind: Configuration\n      default: [{operator: Same}]"), `FILE: plugins[0].configuration: default[0].operator: Unsupported value: "Same": supported values: "Equal", "Exists"`},
		"a backend's lifetime": {plugin("ImagePolicyWebhook", "      imagePolicy: {allowTTL: 9223372036854775807}"), "FILE: plugins[0].configuration: imagePolicy.allowTTL: Invalid value: 9223372036854775807: valid value is between 1s and 30m0s, in units of 1s"},
		"no backend":           {plugin("ImagePolicyWebhook", "      imagePolicy: {allowTTL: 5}"), "FILE: plugins[0].configuration: imagePolicy.kubeConfigFile: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "admission.yaml")
			writeFile(t, file, c.text)
			list := []string{"-EventRateLimit"}
			for _, optional := range []string{"EventRateLimit", "ImagePolicyWebhook", "PodTolerationRestriction"} {
				if strings.Contains(c.text, optional) {
					list = append(list, optional)
				}
			}
			_, err := plugins.ReadSettings(file, list)
			want := strings.ReplaceAll(c.want, "FILE", "configuring the admission plugins: "+file)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// TestSettingsOfPluginsThatAreOff checks that only the configurations of plugins that run are read.
func TestSettingsOfPluginsThatAreOff(t *testing.T) {
	t.Parallel()
	file := configuration(t, "EventRateLimit", "      wrong: true")
	if _, err := plugins.ReadSettings(file, nil); err != nil {
		t.Error(err)
	}
	if _, err := plugins.ReadSettings("", nil); err != nil {
		t.Error(err)
	}
}

func event(user, namespace, component string) *admission.Attributes {
	a := create("events", namespace, "e", &corev1.Event{Source: corev1.EventSource{Component: component}})
	a.User = user
	return a
}

// TestEventRates follows plugin/pkg/admission/eventratelimit.
func TestEventRates(t *testing.T) {
	t.Parallel()
	dry := event("ann", "a", "x")
	dry.DryRun = true
	for name, c := range map[string]struct {
		limits string
		events []*admission.Attributes
		want   string // of the last one
	}{
		"within the burst": {"{type: Server, qps: 1, burst: 2}", []*admission.Attributes{event("", "a", ""), event("", "b", "")}, ""},
		"beyond the burst": {"{type: Server, qps: 1, burst: 1}", []*admission.Attributes{event("", "a", ""), event("", "b", "")}, "limit reached on type Server for key "},
		"dry runs":         {"{type: Server, qps: 1, burst: 1}", []*admission.Attributes{dry, dry, event("", "b", "")}, ""},
		"a namespace":      {"{type: Namespace, qps: 1, burst: 1}", []*admission.Attributes{event("", "a", ""), event("", "a", "")}, "limit reached on type Namespace for key a"},
		"two namespaces":   {"{type: Namespace, qps: 1, burst: 1}", []*admission.Attributes{event("", "a", ""), event("", "b", "")}, ""},
		"a user":           {"{type: User, qps: 1, burst: 1}", []*admission.Attributes{event("ann", "a", ""), event("ann", "b", "")}, "limit reached on type User for key ann"},
		"a source":         {"{type: SourceAndObject, qps: 1, burst: 1}", []*admission.Attributes{event("", "a", "x"), event("", "b", "x")}, "limit reached on type SourceAndObject for key x"},
		"two sources":      {"{type: SourceAndObject, qps: 1, burst: 1}", []*admission.Attributes{event("", "a", "x"), event("", "a", "y")}, ""},
		"a full cache": {"{type: User, qps: 1, burst: 1, cacheSize: 1}", []*admission.Attributes{event("ann", "a", ""),
			event("bob", "a", ""), event("ann", "a", "")}, ""},
		"two limits": {"{type: User, qps: 1, burst: 1}, {type: Server, qps: 1, burst: 1}", []*admission.Attributes{
			event("ann", "a", ""), event("ann", "b", "")},
			"[limit reached on type User for key ann, limit reached on type Server for key ]"},
		"a long key": {"{type: SourceAndObject, qps: 1, burst: 1}", []*admission.Attributes{event("", "a", strings.Repeat("x", 1<<20)),
			event("", "b", strings.Repeat("x", 1<<20))},
			"limit reached on type SourceAndObject for key " + strings.Repeat("x", 1<<10) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := configured(t, "EventRateLimit", eventLimits+"        ["+c.limits+"]")
				var err error
				for _, e := range c.events {
					err = p.Validate(t.Context(), e, state{})
				}
				wantForbidden(t, err, "Too many requests: ", c.want)
				if c.want == "" {
					return
				}
				if !apierrors.IsTooManyRequests(err) {
					t.Errorf("%v has another code", err)
				}
				time.Sleep(time.Second) // of the bubble
				if err := p.Validate(t.Context(), c.events[0], state{}); err != nil {
					t.Errorf("after a second: %v", err)
				}
			})
		})
	}
}

// TestEventRatesOfManyUsers checks that the rates of very many users take neither long nor more than the cache.
func TestEventRatesOfManyUsers(t *testing.T) {
	t.Parallel()
	p := configured(t, "EventRateLimit", eventLimits+"        [{type: User, qps: 1, burst: 1}]")
	for i := range 100_000 {
		if err := p.Validate(context.Background(), event(fmt.Sprint(i), "a", ""), state{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Validate(context.Background(), event("0", "a", ""), state{}); err != nil {
		t.Errorf("the oldest rate is still known: %v", err)
	}
	if err := p.Validate(context.Background(), event("99999", "a", ""), state{}); err == nil {
		t.Error("the newest rate is not known")
	}
}

// TestPodSecurityDefaults checks the defaults and exemptions of a configuration.
func TestPodSecurityDefaults(t *testing.T) {
	t.Parallel()
	p := configured(t, "PodSecurity", `
      apiVersion: pod-security.admission.config.k8s.io/v1
      kind: PodSecurityConfiguration
      defaults: {enforce: baseline}
      exemptions: {usernames: [root], namespaces: [system], runtimeClasses: [vm]}
`)
	s := state{namespaces: {namespace("default", corev1.NamespaceActive), namespace("system", corev1.NamespaceActive),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "free", Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "privileged"}}}}}
	pod := func(user, namespace, class string) *admission.Attributes {
		spec := corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "c"}}}
		if class != "" {
			spec.RuntimeClassName = &class
		}
		a := create("pods", namespace, "p", &corev1.Pod{Spec: spec})
		a.User = user
		return a
	}
	const violates = `violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`
	for name, c := range map[string]struct {
		write *admission.Attributes
		want  string
	}{
		"the default":             {pod("ann", "default", ""), violates},
		"a label":                 {pod("ann", "free", ""), ""},
		"an exempt user":          {pod("root", "default", ""), ""},
		"an exempt namespace":     {pod("ann", "system", ""), ""},
		"an exempt runtime class": {pod("ann", "default", "vm"), ""},
		"another runtime class":   {pod("ann", "default", "runc"), violates},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantForbidden(t, p.Validate(context.Background(), c.write, s), `pods "p" is forbidden: `, c.want)
		})
	}
	var warnings []string
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted"}}}
	a := create("namespaces", "", "system", ns)
	a.Warn = func(text string) { warnings = append(warnings, text) }
	if err := p.Validate(context.Background(), a, s); err != nil {
		t.Fatal(err)
	}
	a = update("namespaces", "", "", "system", ns, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}})
	a.Warn = func(text string) { warnings = append(warnings, text) }
	if err := p.Validate(context.Background(), a, s); err != nil {
		t.Fatal(err)
	}
	const ignored = `namespace "system" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored`
	if got := strings.Join(warnings, "; "); got != ignored+"; "+ignored {
		t.Error(got)
	}
}

// TestNodesOfNamespaces follows plugin/pkg/admission/podnodeselector.
func TestNodesOfNamespaces(t *testing.T) {
	t.Parallel()
	p := configured(t, "PodNodeSelector", `
      podNodeSelectorPluginConfig:
        clusterDefaultNodeSelector: env=prod
        limited: env=prod,zone=a
`)
	annotated := namespace("annotated", corev1.NamespaceActive)
	annotated.Annotations = map[string]string{"scheduler.alpha.kubernetes.io/node-selector": "env=test"}
	broken := namespace("broken", corev1.NamespaceActive)
	broken.Annotations = map[string]string{"scheduler.alpha.kubernetes.io/node-selector": "env"}
	s := state{namespaces: {namespace("default", corev1.NamespaceActive), namespace("limited", corev1.NamespaceActive),
		annotated, broken}}
	for name, c := range map[string]struct {
		namespace string
		selects   map[string]string
		want      string // the selector, or an error
	}{
		"the default":      {"default", nil, "map[env:prod]"},
		"an annotation":    {"annotated", map[string]string{"zone": "b"}, "map[env:test zone:b]"},
		"a conflict":       {"default", map[string]string{"env": "test"}, `pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector`},
		"permitted labels": {"limited", map[string]string{"zone": "a"}, "map[env:prod zone:a]"},
		"another label":    {"limited", map[string]string{"zone": "b"}, `pods "p" is forbidden: pod node label selector labels conflict with its namespace whitelist`},
		"a wrong selector": {"broken", nil, "invalid selector: [env]"},
		"no namespace":     {"none", nil, `namespaces "none" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: c.selects}}
			a := create("pods", c.namespace, "p", pod)
			got := ""
			if err := p.Admit(context.Background(), a, s); err != nil {
				got = err.Error()
			} else if err := p.Validate(context.Background(), a, s); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(pod.Spec.NodeSelector)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestTolerationsOfNamespaces follows plugin/pkg/admission/podtolerationrestriction.
func TestTolerationsOfNamespaces(t *testing.T) {
	t.Parallel()
	p := configured(t, "PodTolerationRestriction", `
      apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
      kind: Configuration
      default: [{key: shared, operator: Exists}]
      whitelist: [{key: shared, operator: Exists}, {key: node.kubernetes.io/memory-pressure, operator: Exists}]
`)
	annotated := func(name string, annotations ...string) kind.Object {
		ns := namespace(name, corev1.NamespaceActive)
		ns.Annotations = map[string]string{}
		for i := 0; i < len(annotations); i += 2 {
			ns.Annotations["scheduler.alpha.kubernetes.io/"+annotations[i]] = annotations[i+1]
		}
		return ns
	}
	s := state{namespaces: {namespace("default", corev1.NamespaceActive),
		annotated("own", "defaultTolerations", `[{"key":"own","operator":"Exists"}]`, "tolerationsWhitelist",
			`[{"key":"own","operator":"Exists"}]`),
		annotated("open", "defaultTolerations", "", "tolerationsWhitelist", "[]"),
		annotated("broken", "defaultTolerations", "x"),
	}}
	other := corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}
	const conflict = "pod tolerations (possibly merged with namespace default tolerations) conflict with its "
	for name, c := range map[string]struct {
		namespace string
		requests  string
		has       []corev1.Toleration
		want      string // the keys, or an error
	}{
		"the default":      {"default", "", nil, "shared"},
		"a burstable pod":  {"default", "cpu=1", nil, "shared node.kubernetes.io/memory-pressure"},
		"not permitted":    {"default", "", []corev1.Toleration{other}, conflict + "cluster whitelist"},
		"an annotation":    {"own", "", nil, "own"},
		"not in the list":  {"own", "cpu=1", nil, conflict + "namespace whitelist"},
		"everything":       {"open", "", []corev1.Toleration{other}, "other"},
		"a wrong list":     {"broken", "", nil, "invalid character 'x' looking for beginning of value"},
		"many tolerations": {"open", "", make([]corev1.Toleration, 100_000), `pods "p" is forbidden: the pod or its namespace has too many tolerations: at most 1000 are compared`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: c.has, Containers: []corev1.Container{
				requesting(c.requests, "")}}}
			var got []string
			if err := p.Admit(context.Background(), create("pods", c.namespace, "p", pod), s); err != nil {
				got = []string{err.Error()}
			} else {
				for _, t := range pod.Spec.Tolerations {
					got = append(got, t.Key)
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
