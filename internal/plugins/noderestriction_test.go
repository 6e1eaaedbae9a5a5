package plugins_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// nodeState has the nodes a and b, each with a pod, and a driver with tokens for the audience vault.
func nodeState() state {
	pod := func(node, audience string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "on-" + node, UID: "pod"},
			Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "sa", Volumes: []corev1.Volume{
				{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience}},
						{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/pods"}},
					}}}},
				{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
					ClaimName: "claim"}}},
			}}}
	}
	mirror := pod("a", "")
	mirror.Name, mirror.Annotations = "mirror", map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	return state{
		pods:                {pod("a", "api"), pod("b", "api"), mirror},
		{Resource: "nodes"}: {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "node"}}},
		{Resource: "serviceaccounts"}: {&corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sa", UID: "account"}}},
		{Resource: "persistentvolumeclaims"}: {&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim"},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "volume"}}},
		{Resource: "persistentvolumes"}: {&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume"},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "driver"}}}}},
		{Group: "storage.k8s.io", Resource: "csidrivers"}: {&storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: "driver"},
			Spec:       storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "vault"}}}}},
	}
}

// nodeCase is a write of the agent of node a.
type nodeCase struct {
	write *admission.Attributes
	// want is the text after the prefix of a 403; after an exclamation mark, that of another error.
	want string
}

func (c nodeCase) run(t *testing.T, s state, by permissions) {
	t.Helper()
	a := *c.write
	a.User, a.Groups, a.Authorizer = "system:node:a", []string{"system:nodes"}, by
	p := plugins.RestrictNodes{}
	if !p.Handles(a.Operation, a.Resource.GroupResource(), a.Subresource) {
		t.Fatal("the plugin does not handle the write")
	}
	prefix := fmt.Sprintf("%s %q is forbidden: ", a.Resource.GroupResource(), a.Name)
	want, other := strings.CutPrefix(c.want, "!")
	if other {
		prefix = ""
	}
	wantForbidden(t, p.Admit(context.Background(), &a, s), prefix, want)
	for user, groups := range map[string][]string{"system:node:a": {"devs"}, "ann": {"system:nodes"}} {
		a.User, a.Groups = user, groups
		if err := p.Admit(context.Background(), &a, s); err != nil {
			t.Errorf("%s in %s: %v", user, groups, err)
		}
	}
	a.User, a.Groups = "system:node:", []string{"system:nodes"}
	if err := p.Admit(context.Background(), &a, s); err == nil ||
		!strings.HasSuffix(err.Error(), `could not determine node from user "system:node:"`) {
		t.Error(err)
	}
}

func deletion(resource, namespace, name string, old kind.Object) *admission.Attributes {
	a := create(resource, namespace, name, nil)
	a.Operation, a.Old = admission.Delete, old
	return a
}

func in(group string, a *admission.Attributes) *admission.Attributes {
	a.Resource.Group = group
	return a
}

// TestAgentsWriteOwnObjects follows plugin/pkg/admission/noderestriction.
func TestAgentsWriteOwnObjects(t *testing.T) {
	t.Parallel()
	node := func(edit ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"kubernetes.io/hostname": "a"}}}
		for _, e := range edit {
			e(n)
		}
		return n
	}
	label := func(keys ...string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			for _, k := range keys {
				n.Labels[k] = "x"
			}
		}
	}
	tainted := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k"}} }
	owned := func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "o"}} }
	//lint:ignore SA1019 Kubernetes still rejects it
	configured := func(n *corev1.Node) { n.Spec.ConfigSource = &corev1.NodeConfigSource{} }
	claim := func(size, label string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: size, Labels: map[string]string{"l": label}},
			Status:     corev1.PersistentVolumeClaimStatus{Capacity: amounts("storage=" + size)}}
	}
	slice := func(node string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: &node}}
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	csr := func(signer, name string) *admission.Attributes {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: name}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return in("certificates.k8s.io", create("certificatesigningrequests", "", "c",
			&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: signer,
				Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}}))
	}
	broken := csr(certificatesv1.KubeletServingSignerName, "x")
	broken.Object.(*certificatesv1.CertificateSigningRequest).Spec.Request = []byte("x")
	lease := func(namespace, name string) *admission.Attributes {
		return in("coordination.k8s.io", create("leases", namespace, name, &coordinationv1.Lease{}))
	}
	csiNode := func(name string) *admission.Attributes {
		return in("storage.k8s.io", create("csinodes", "", name, &storagev1.CSINode{}))
	}
	csiStatus := csiNode("a")
	csiStatus.Operation, csiStatus.Subresource = admission.Update, "status"
	large := claim("1", strings.Repeat("x", 1<<20))
	for name, c := range map[string]nodeCase{
		"its node":           {create("nodes", "", "a", node()), ""},
		"another node":       {create("nodes", "", "b", node()), `node "a" is not allowed to modify node "b"`},
		"delete its node":    {deletion("nodes", "", "a", node()), ""},
		"delete all nodes":   {deletion("nodes", "", "", node()), `!nodes is forbidden: node "a" is not allowed to modify node ""`},
		"labels of agents":   {create("nodes", "", "a", node(label("node.kubernetes.io/x", "b.kubelet.kubernetes.io/x", "topology.kubernetes.io/zone", "own", "example.com/x"))), ""},
		"a reserved label":   {create("nodes", "", "a", node(label("node-restriction.kubernetes.io/x", "b.k8s.io/y"))), `node "a" is not allowed to set the following labels: b.k8s.io/y, node-restriction.kubernetes.io/x`},
		"a new config":       {create("nodes", "", "a", node(configured)), `node "a" is not allowed to create pods with a non-nil configSource`},
		"another status":     {update("nodes", "status", "", "a", node(label("own")), node()), ""},
		"another label":      {update("nodes", "", "", "a", node(label("x.kubernetes.io/y")), node()), "is not allowed to modify labels: x.kubernetes.io/y"},
		"a label less":       {update("nodes", "", "", "a", node(), node(label("x.kubernetes.io/y"))), "is not allowed to modify labels: x.kubernetes.io/y"},
		"another taint":      {update("nodes", "", "", "a", node(tainted), node()), `node "a" is not allowed to modify taints`},
		"a taint less":       {update("nodes", "", "", "a", node(), node(tainted)), `node "a" is not allowed to modify taints`},
		"another owner":      {update("nodes", "", "", "a", node(owned), node()), `node "a" is not allowed to modify ownerReferences`},
		"another config":     {update("nodes", "", "", "a", node(configured), node()), `node "a" is not allowed to update configSource to a new non-nil configSource`},
		"a config less":      {update("nodes", "", "", "a", node(), node(configured)), ""},
		"a claim":            {create("persistentvolumeclaims", "default", "c", claim("1", "")), "may only update PVC status"},
		"a claim's size":     {update("persistentvolumeclaims", "status", "default", "c", claim("2", ""), claim("1", "")), ""},
		"a large claim":      {update("persistentvolumeclaims", "status", "default", "c", large, claim("1", "")), `node "a" is not allowed to update fields other than status.quantity and status.conditions: the claims are too large to be compared here`},
		"its lease":          {lease("kube-node-lease", "a"), ""},
		"another lease":      {lease("kube-node-lease", "b"), "can only access node lease with the same name as the requesting node"},
		"a lease elsewhere":  {lease("default", "a"), `can only access leases in the "kube-node-lease" system namespace`},
		"its CSINode":        {csiNode("a"), ""},
		"another CSINode":    {csiNode("b"), "can only access CSINode with the same name as the requesting node"},
		"a CSINode's status": {csiStatus, "CSIVolumeHealth feature gate is disabled"},
		"its slice":          {in("resource.k8s.io", create("resourceslices", "", "s", slice("a"))), ""},
		"another slice":      {in("resource.k8s.io", create("resourceslices", "", "s", slice("b"))), "can only create ResourceSlice with the same NodeName as the requesting node"},
		"a slice of none":    {in("resource.k8s.io", create("resourceslices", "", "s", &resourcev1.ResourceSlice{})), "can only create ResourceSlice with the same NodeName as the requesting node"},
		"delete a slice":     {in("resource.k8s.io", deletion("resourceslices", "", "s", slice("b"))), "can only delete ResourceSlice with the same NodeName as the requesting node"},
		"change a slice":     {in("resource.k8s.io", update("resourceslices", "", "", "s", slice("b"), slice("b"))), ""},
		"its certificate":    {csr(certificatesv1.KubeletServingSignerName, "system:node:a"), ""},
		"another one":        {csr(certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:b"), "can only create a node CSR with CN=system:node:a"},
		"of another signer":  {csr("example.com/x", "system:node:b"), ""},
		"a broken request":   {broken, "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, nodeState(), permissions{})
		})
	}
	a := update("persistentvolumeclaims", "status", "default", "c", claim("2", "x"), claim("1", ""))
	a.User, a.Groups = "system:node:a", []string{"system:nodes"}
	if err := (plugins.RestrictNodes{}).Admit(context.Background(), a, state{}); err == nil ||
		!strings.Contains(err.Error(), "+   \"l\": \"x\"") {
		t.Errorf("no difference in %v", err)
	}
}

// TestAgentsWriteOwnPods follows plugin/pkg/admission/noderestriction.
func TestAgentsWriteOwnPods(t *testing.T) {
	t.Parallel()
	pod := func(edit ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "Node", Name: "a", UID: "node", Controller: new(true)}}},
			Spec: corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "c"}}}}
		for _, e := range edit {
			e(p)
		}
		return p
	}
	owner := func(edit func(*metav1.OwnerReference)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { edit(&p.OwnerReferences[0]) }
	}
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: source}) }
	}
	projected := func(s corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{s}}}
	}
	new := func(edit ...func(*corev1.Pod)) *admission.Attributes {
		return create("pods", "default", "p", pod(edit...))
	}
	elsewhere := func(p *corev1.Pod) { p.Spec.NodeName = "b" }
	eviction := func(name string) *admission.Attributes {
		a := create("pods", "default", name, &policyv1.Eviction{})
		a.Subresource = "eviction"
		return a
	}
	binding := create("pods", "default", "p", &corev1.Binding{})
	binding.Subresource = "binding"
	status := func(edit func(*corev1.Pod), base ...func(*corev1.Pod)) *admission.Attributes {
		return update("pods", "status", "default", "p", pod(append(base, edit)...), pod(base...))
	}
	const single, owning = `node "a" can only create pods with a single owner reference set to itself`,
		`node "a" can only create pods with an owner reference set to itself`
	refers := func(what string) string { return `node "a" can not create pods that reference ` + what }
	for name, c := range map[string]nodeCase{
		"a mirror pod":       {new(), ""},
		"no mirror pod":      {new(func(p *corev1.Pod) { p.Annotations = nil }), `pod does not have "kubernetes.io/config.mirror" annotation, node "a" can only create mirror pods`},
		"on another node":    {new(elsewhere), `node "a" can only create pods with spec.nodeName set to itself`},
		"without an owner":   {new(func(p *corev1.Pod) { p.OwnerReferences = nil }), owning},
		"with two owners":    {new(func(p *corev1.Pod) { p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences...) }), single},
		"of another node":    {new(owner(func(o *metav1.OwnerReference) { o.Name = "b" })), owning},
		"without controller": {new(owner(func(o *metav1.OwnerReference) { o.Controller = nil })), `node "a" can only create pods with a controller owner reference set to itself`},
		"that blocks":        {new(owner(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = o.Controller })), `node "a" must not set blockOwnerDeletion on an owner reference`},
		"of an older node":   {new(owner(func(o *metav1.OwnerReference) { o.UID = "old" })), `node a UID mismatch: expected old got node`},
		"with an account":    {new(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "x" }), refers("serviceaccounts")},
		"with a secret":      {new(volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}})), refers("secrets")},
		"with no secret":     {new(volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}})), refers("secrets (via secret volumes)")},
		"with a ConfigMap": {new(func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}}
		}), refers("configmaps")},
		"with a claim":      {new(volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}})), refers("persistentvolumeclaims")},
		"with a resource":   {new(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{}} }), refers("resourceclaims")},
		"with a token":      {new(volume(projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}))), refers("serviceaccounts (via projected volumes)")},
		"with its labels":   {new(volume(projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}))), ""},
		"with a host path":  {new(volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}})), ""},
		"update a pod":      {update("pods", "", "default", "p", pod(), pod()), `unexpected operation "UPDATE", node "a" can only create and delete mirror pods`},
		"delete a pod":      {deletion("pods", "default", "p", pod()), ""},
		"delete another":    {deletion("pods", "default", "p", pod(elsewhere)), `node "a" can only delete pods with spec.nodeName set to itself`},
		"bind a pod":        {binding, `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},
		"a status":          {status(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), ""},
		"another status":    {status(func(*corev1.Pod) {}, elsewhere), `node "a" can only update pod status for pods with spec.nodeName set to itself`},
		"a label":           {status(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }), `node "a" cannot update labels through pod status`},
		"a claim's name":    {status(func(p *corev1.Pod) { p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "c"}} }), `node "a" cannot update resource claim statues`},
		"an extended claim": {status(func(p *corev1.Pod) { p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{} }), `node "a" cannot update extended resource claim status`},
		"an allocatable": {status(func(p *corev1.Pod) {
			p.Status.NodeAllocatableResourceClaimStatuses = make([]corev1.NodeAllocatableResourceClaimStatus, 1)
		}), `node "a" cannot update node allocatable resource claim statuses`},
		"evict a pod":        {eviction("on-a"), ""},
		"evict another":      {eviction("on-b"), `node a can only evict pods with spec.nodeName set to itself`},
		"evict none":         {eviction("none"), `!pods "none" not found`},
		"evict without name": {eviction(""), `could not determine pod from request data`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.write.Subresource == "eviction" && c.write.Name == "" { // the prefix of the error names no object
				c.want = `!pods "Unknown" is forbidden: ` + c.want
			}
			c.run(t, nodeState(), permissions{})
		})
	}
}

// TestAgentsRequestOwnCredentials follows plugin/pkg/admission/noderestriction.
func TestAgentsRequestOwnCredentials(t *testing.T) {
	t.Parallel()
	token := func(ref *authenticationv1.BoundObjectReference, audiences ...string) *admission.Attributes {
		a := create("serviceaccounts", "default", "sa", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: ref, Audiences: audiences}})
		a.Subresource = "token"
		return a
	}
	bound := func(pod, uid string) *authenticationv1.BoundObjectReference {
		r := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod}
		if uid != "" {
			r.UID = "pod"
		}
		return r
	}
	old := bound("on-a", "pod")
	old.UID = "old"
	certificate := func(edit func(*certificatesv1.PodCertificateRequestSpec)) *admission.Attributes {
		r := &certificatesv1.PodCertificateRequest{Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: "example.com/pods", NodeName: "a", NodeUID: "node", PodName: "on-a", PodUID: "pod",
			ServiceAccountName: "sa", ServiceAccountUID: "account"}}
		edit(&r.Spec)
		return in("certificates.k8s.io", create("podcertificaterequests", "default", "r", r))
	}
	type spec = certificatesv1.PodCertificateRequestSpec
	changed := certificate(func(*spec) {})
	changed.Operation = admission.Update
	s := nodeState()
	broken := nodeState()
	delete(broken, schema.GroupResource{Resource: "persistentvolumes"})
	for name, c := range map[string]struct {
		nodeCase
		state   state
		allowed string
	}{
		"an account":         {nodeCase{create("serviceaccounts", "default", "sa", &corev1.ServiceAccount{}), ""}, s, ""},
		"a token":            {nodeCase{token(bound("on-a", "pod"), "api"), ""}, s, ""},
		"a driver's token":   {nodeCase{token(bound("on-a", "pod"), "vault"), ""}, s, ""},
		"a permitted token":  {nodeCase{token(bound("on-a", "pod"), "bank"), ""}, s, "request-serviceaccounts-token-audience /v1/bank default/sa"},
		"another audience":   {nodeCase{token(bound("on-a", "pod"), "bank"), `system:node:a is not authorized to request tokens for audience "bank"`}, s, ""},
		"no audience":        {nodeCase{token(bound("on-a", "pod")), `system:node:a is not authorized to request tokens for audience ""`}, s, ""},
		"two audiences":      {nodeCase{token(bound("on-a", "pod"), "api", "vault"), "node may only request 0 or 1 audiences"}, s, ""},
		"no volume":          {nodeCase{token(bound("on-a", "pod"), "vault"), `error validating audience "vault": persistentvolumes "volume" not found`}, broken, ""},
		"an unbound token":   {nodeCase{token(nil), "node requested token not bound to a pod"}, s, ""},
		"a pod without uid":  {nodeCase{token(bound("on-a", "")), "node requested token with a pod binding without a uid"}, s, ""},
		"an older pod":       {nodeCase{token(old), "the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated"}, s, ""},
		"of another node":    {nodeCase{token(bound("on-b", "pod")), "node requested token bound to a pod scheduled on a different node"}, s, ""},
		"no pod":             {nodeCase{token(bound("none", "pod")), `!pods "none" not found`}, s, ""},
		"a certificate":      {nodeCase{certificate(func(*spec) {}), ""}, s, ""},
		"a changed one":      {nodeCase{changed, "unexpected operation UPDATE"}, s, ""},
		"for another node":   {nodeCase{certificate(func(s *spec) { s.NodeName = "b" }), `PodCertificateRequest.Spec.NodeName="b", which is not the requesting node "a"`}, s, ""},
		"for an older node":  {nodeCase{certificate(func(s *spec) { s.NodeUID = "old" }), `!PodCertificateRequest for pod "default/on-a" names node UID "old", inconsistent with the running node ("node")`}, s, ""},
		"for no pod":         {nodeCase{certificate(func(s *spec) { s.PodName = "x" }), `!while retrieving pod "default/x" named in the PodCertificateRequest: pods "x" not found`}, s, ""},
		"for an older pod":   {nodeCase{certificate(func(s *spec) { s.PodUID = "old" }), `!PodCertificateRequest for pod "default/on-a" contains pod UID ("old") which differs from running pod "pod"`}, s, ""},
		"for another pod":    {nodeCase{certificate(func(s *spec) { s.PodName = "on-b" }), `pod "default/on-b" is not running on node "a" named in the PodCertificateRequest`}, s, ""},
		"for a mirror pod":   {nodeCase{certificate(func(s *spec) { s.PodName = "mirror" }), `pod "default/mirror" is a mirror pod`}, s, ""},
		"another account":    {nodeCase{certificate(func(s *spec) { s.ServiceAccountName = "x" }), `PodCertificateRequest for pod "default/on-a" contains serviceAccountName ("x") that differs from running pod ("sa")`}, s, ""},
		"an older account":   {nodeCase{certificate(func(s *spec) { s.ServiceAccountUID = "old" }), `!PodCertificateRequest for pod "default/sa" names service account UID "old", which differs from the running service account ("account")`}, s, ""},
		"another signer":     {nodeCase{certificate(func(s *spec) { s.SignerName = "example.com/x" }), `pod "default/on-a" does not mount a podCertificate projected volume for signer "example.com/x"`}, s, ""},
		"a permitted signer": {nodeCase{certificate(func(s *spec) { s.SignerName = "example.com/x" }), ""}, s, "request-serviceaccounts-podcertificate-signer certificates.k8s.io/v1/example.com:x default/sa"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, c.state, permissions{allowed: []string{c.allowed}})
		})
	}
}
