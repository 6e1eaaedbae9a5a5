package podspec

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPullPolicyFollowsTheTag(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                           corev1.PullAlways,
		"nginx:latest":                    corev1.PullAlways,
		"nginx:1.16":                      corev1.PullIfNotPresent,
		"registry:5000/a/nginx":           corev1.PullAlways,
		"registry:5000/a/nginx:1":         corev1.PullIfNotPresent,
		"localhost/nginx":                 corev1.PullAlways,
		"nginx@sha256:" + digest:          corev1.PullIfNotPresent,
		"nginx:latest@sha256:" + digest:   corev1.PullIfNotPresent,
		"Nginx":                           corev1.PullIfNotPresent, // malformed, so it has no tag
		"Registry.example.com/nginx":      corev1.PullAlways,
		" ":                               corev1.PullIfNotPresent,
		"docker.io/library/nginx-a_b.c:x": corev1.PullIfNotPresent,

		strings.Repeat("a", 247):                      corev1.PullAlways,
		strings.Repeat("a", 248):                      corev1.PullIfNotPresent, // of the account library, too long
		"index.docker.io/" + strings.Repeat("a", 248): corev1.PullIfNotPresent,
		"registry:5000/" + strings.Repeat("a", 255):   corev1.PullAlways,
		"registry:5000/" + strings.Repeat("a/", 128):  corev1.PullIfNotPresent,
		"registry:5000/a/" + strings.Repeat("a", 254): corev1.PullIfNotPresent,
	} {
		if got := pullPolicyOf(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestPodDefaults(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		rule, spec, container string
		get                   func(*corev1.Pod) any
		want                  string
	}{
		{"requests are the limits", ``, `resources: {limits: {cpu: 1000m}}`, func(p *corev1.Pod) any {
			return p.Spec.Containers[0].Resources.Requests
		}, `{"cpu":"1"}`},
		{"quantities are thousandths", ``, `resources: {requests: {cpu: 0.1m}}`, func(p *corev1.Pod) any {
			return p.Spec.Containers[0].Resources.Requests
		}, `{"cpu":"1m"}`},
		{"ports are the host's on its network", `hostNetwork: true`, `ports: [{containerPort: 80}]`,
			func(p *corev1.Pod) any { return p.Spec.Containers[0].Ports },
			`[{"hostPort":80,"containerPort":80,"protocol":"TCP"}]`},
		{"a volume is an empty directory", `volumes: [{name: v}]`, ``, func(p *corev1.Pod) any {
			return p.Spec.Volumes
		}, `[{"name":"v","emptyDir":{}}]`},
		{"a host path has a type", `volumes: [{name: v, hostPath: {path: /a}}]`, ``, func(p *corev1.Pod) any {
			return p.Spec.Volumes
		}, `[{"name":"v","hostPath":{"path":"/a","type":""}}]`},
		{"a token lives an hour", `volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]`, ``,
			func(p *corev1.Pod) any { return p.Spec.Volumes },
			`[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3600,"path":"t"}}],"defaultMode":420}}]`},
		{"a certificate has no default lifetime",
			`volumes: [{name: v, projected: {sources: [{podCertificate: {signerName: a.b/c, keyType: ED25519, keyPath: k}}]}}]`, ``,
			func(p *corev1.Pod) any { return p.Spec.Volumes[0].Projected.Sources },
			`[{"podCertificate":{"signerName":"a.b/c","keyType":"ED25519","keyPath":"k"}}]`},
		{"a stop signal is dropped", ``, `lifecycle: {stopSignal: SIGUSR1}`,
			func(p *corev1.Pod) any { return p.Spec.Containers[0].Lifecycle }, `null`},
		{"hooks beside a stop signal are kept", ``, `lifecycle: {stopSignal: SIGUSR1, preStop: {sleep: {seconds: 1}}}`,
			func(p *corev1.Pod) any { return p.Spec.Containers[0].Lifecycle }, `{"preStop":{"sleep":{"seconds":1}}}`},
		{"a scheduling group is dropped", `schedulingGroup: {podGroupName: g}`, ``,
			func(p *corev1.Pod) any { return p.Spec.SchedulingGroup }, `null`},
		{"a hook gets a path", ``, `lifecycle: {preStop: {httpGet: {port: 80}}}`, func(p *corev1.Pod) any {
			return p.Spec.Containers[0].Lifecycle
		},
			`{"preStop":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"}}}`},
		{"a negative grace period is 1", `terminationGracePeriodSeconds: -1`, ``,
			func(p *corev1.Pod) any { return p.Spec.TerminationGracePeriodSeconds }, `1`},
		{"an account has two names", `serviceAccount: a`, ``, func(p *corev1.Pod) any {
			return p.Spec.ServiceAccountName
		}, `"a"`},
		{"a pod asks for what its containers do", `resources: {limits: {cpu: "4", memory: 1Gi}}`,
			`resources: {requests: {cpu: "2"}}`,
			func(p *corev1.Pod) any { return p.Spec.Resources.Requests }, `{"cpu":"2","memory":"1Gi"}`},
		{"labels that are matched are asked for",
			`topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [app], labelSelector: {}}]`, ``,
			func(p *corev1.Pod) any {
				return p.Spec.TopologySpreadConstraints[0].LabelSelector
			}, `{"matchExpressions":[{"key":"app","operator":"In","values":["a"]}]}`},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			data, err := json.Marshal(r.get(podRule{spec: r.spec, container: r.container}.pod(t)))
			if err != nil || string(data) != r.want {
				t.Errorf("%s: %s %v, want %s", r.rule, data, err, r.want)
			}
		})
	}
}

func TestPodIPIsTheFirstOfPodIPs(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ rule, status, want string }{
		{"only podIP", `podIP: 1.1.1.1`, `{"podIP":"1.1.1.1","podIPs":[{"ip":"1.1.1.1"}]}`},
		{"only podIPs", `podIPs: [{ip: 1.1.1.1}]`, `{"podIP":"1.1.1.1","podIPs":[{"ip":"1.1.1.1"}]}`},
		{"podIP is right", `{podIP: 1.1.1.1, podIPs: [{ip: 2.2.2.2}]}`,
			`{"podIP":"1.1.1.1","podIPs":[{"ip":"1.1.1.1"}]}`},
		{"none", `{}`, `{}`},
	} {
		var status corev1.PodStatus
		overlay(t, r.status, &status)
		normalizePodIPs(&status)
		if data, err := json.Marshal(status); err != nil || string(data) != r.want {
			t.Errorf("%s: %s %v, want %s", r.rule, data, err, r.want)
		}
	}
}

func TestQOSClass(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		spec, container string
		want            corev1.PodQOSClass
	}{
		{``, ``, corev1.PodQOSBestEffort},
		{``, `resources: {requests: {cpu: "1"}}`, corev1.PodQOSBurstable},
		{``, `resources: {limits: {cpu: "1", memory: 1Gi}}`, corev1.PodQOSGuaranteed},
		{``, `resources: {limits: {cpu: "1"}}`, corev1.PodQOSBurstable},
		{``, `resources: {limits: {cpu: "2", memory: 1Gi}, requests: {cpu: "1", memory: 1Gi}}`, corev1.PodQOSBurstable},
		{`initContainers: [{name: a, image: i}]`, `resources: {limits: {cpu: "1", memory: 1Gi}}`,
			corev1.PodQOSBurstable},
		{`resources: {limits: {cpu: "1", memory: 1Gi}}`, ``, corev1.PodQOSGuaranteed},
	} {
		if got := (podRule{spec: r.spec, container: r.container}).pod(t).Status.QOSClass; got != r.want {
			t.Errorf("%s %s: %s, want %s", r.spec, r.container, got, r.want)
		}
	}
}

func BenchmarkPodDefaultAndValidate(b *testing.B) {
	pod := validPodToChange()
	pod.Spec.Containers[0] = corev1.Container{
		Name: "c", Image: "nginx:1.16", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
		Env:          []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "C", Value: "d"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}},
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v"}}
	b.ReportAllocs()
	for b.Loop() {
		p := pod.DeepCopy()
		Default(p)
		Prepare(p, nil, "")
		if errs := Validate(p, nil, ""); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
