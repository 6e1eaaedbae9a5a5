package plugins_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// TestAlwaysPullImages checks that new pods, and updates that add an image, get the policy Always for all images.
func TestAlwaysPullImages(t *testing.T) {
	t.Parallel()
	pod := func(image string, policy corev1.PullPolicy) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "i", Image: image, ImagePullPolicy: policy}},
			Containers:     []corev1.Container{{Name: "c", Image: image, ImagePullPolicy: policy}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: policy}}}},
		}}
	}
	p := plugins.AlwaysPullImages{}
	for name, c := range map[string]struct {
		obj, old *corev1.Pod
		want     *corev1.Pod
	}{
		"a new pod":         {pod("a", corev1.PullNever), nil, pod("a", corev1.PullAlways)},
		"the same images":   {pod("a", corev1.PullNever), pod("a", corev1.PullNever), pod("a", corev1.PullNever)},
		"another image":     {pod("b", corev1.PullNever), pod("a", corev1.PullNever), pod("b", corev1.PullAlways)},
		"a policy is unset": {pod("a", ""), nil, pod("a", corev1.PullAlways)},
	} {
		a := create("pods", "default", "p", c.obj)
		if c.old != nil {
			a.Operation, a.Old = admission.Update, c.old
		}
		if err := p.Admit(context.Background(), a, state{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, c.obj); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	a := create("pods", "default", "p", &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{ImagePullPolicy: corev1.PullNever}}}})
	wantForbidden(t, p.Validate(context.Background(), a, state{}), `pods "p" is forbidden: `,
		`spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"`)
}

// TestOptionalPluginsReject checks the rejections of the plugins that are off by default.
func TestOptionalPluginsReject(t *testing.T) {
	t.Parallel()
	apart := func(key string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key}}}}}}
	}
	service := func(ips ...string) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: ips}}
	}
	updated := create("services", "default", "s", service("1.2.3.4"))
	updated.Operation, updated.Old = admission.Update, service("1.2.3.4", "1.2.3.5")
	removed := create("configmaps", "nowhere", "c", nil)
	removed.Operation = admission.Delete
	s := state{namespaces: {namespace("default", corev1.NamespaceActive)}}
	for _, c := range []struct {
		name   string
		plugin admission.Plugin
		write  *admission.Attributes
		want   string
	}{
		{"apart by node", plugins.LimitAntiAffinity{}, create("pods", "default", "p", apart("kubernetes.io/hostname")), ""},
		{"apart by zone", plugins.LimitAntiAffinity{}, create("pods", "default", "p", apart("zone")),
			`pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed`},
		{"no external address", plugins.DenyExternalIPs{}, create("services", "default", "s", service()), ""},
		{"an external address", plugins.DenyExternalIPs{}, create("services", "default", "s", service("1.2.3.4")),
			`services "s" is forbidden: Use of external IPs is denied by admission control`},
		{"an address that was there", plugins.DenyExternalIPs{}, updated, ""},
		{"a namespace", plugins.NamespaceExists{}, create("configmaps", "default", "c", nil), ""},
		{"no namespace", plugins.NamespaceExists{}, removed, `namespaces "nowhere" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !c.plugin.Handles(c.write.Operation, c.write.Resource.GroupResource(), "") {
				t.Fatal("the plugin does not handle the write")
			}
			wantForbidden(t, c.plugin.Validate(context.Background(), c.write, s), "", c.want)
		})
	}
}

func TestPodsTolerateTheirExtendedResources(t *testing.T) {
	t.Parallel()
	own := corev1.Toleration{Key: "example.com/a", Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoSchedule}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Tolerations:    []corev1.Toleration{own},
		Containers:     []corev1.Container{requesting("cpu=1 example.com/b=1 example.com/a=1 requests.example.com/c=1", "")},
		InitContainers: []corev1.Container{requesting("example.com/b=2 kubernetes.io/d=1", "")},
	}}
	a := create("pods", "default", "p", pod)
	if err := (plugins.TolerateExtendedResources{}).Admit(context.Background(), a, state{}); err != nil {
		t.Fatal(err)
	}
	other := own
	other.Key = "example.com/b"
	if diff := cmp.Diff([]corev1.Toleration{own, other}, pod.Spec.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
}

// TestSubjectsAreRestricted checks that a signing request cannot make its author an administrator.
func TestSubjectsAreRestricted(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(signer, group string) *admission.Attributes {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "eve", Organization: []string{group}}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return create("certificatesigningrequests", "", "c", &certificatesv1.CertificateSigningRequest{
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer,
				Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}})
	}
	const client = "kubernetes.io/kube-apiserver-client"
	for _, c := range []struct{ signer, group, want string }{
		{client, "devs", ""},
		{"example.com/s", "system:masters", ""},
		{client, "system:masters",
			"use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
	} {
		a := request(c.signer, c.group)
		wantForbidden(t, (plugins.RestrictSubjects{}).Validate(context.Background(), a, state{}),
			`certificatesigningrequests "c" is forbidden: `, c.want)
	}
	broken := request(client, "devs")
	broken.Object.(*certificatesv1.CertificateSigningRequest).Spec.Request = []byte("x")
	wantForbidden(t, (plugins.RestrictSubjects{}).Validate(context.Background(), broken, state{}),
		`certificatesigningrequests "c" is forbidden: `, "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST")
}
