package server_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const onePod = `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[
	{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`

// TestPartsOfPodsAreOwned checks that an apply to a part of a pod owns the fields of that part only, whatever the
// document says.
func TestPartsOfPodsAreOwned(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4"}}}`)
	w.send(t, http.MethodPost, podsPath+"?fieldManager=a", onePod).want(t, http.StatusCreated)
	for sub, c := range map[string]struct{ document, owned string }{
		"resize": {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[
			{"name":"c","image":"other","resources":{"requests":{"cpu":"2"}}}]}}`,
			`m Apply/resize v1 {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:resources":{"f:requests":{"f:cpu":{}}}}}}}`},
		"ephemeralcontainers": {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"ephemeralContainers":[
			{"name":"debug","image":"busybox"}],"containers":[{"name":"c","image":"other"}]}}`,
			`m Apply/ephemeralcontainers v1 {"f:spec":{"f:ephemeralContainers":{"k:{\"name\":\"debug\"}":{".":{},"f:image":{},"f:name":{}}}}}`},
	} {
		r := w.send(t, http.MethodPatch, podsPath+"/p/"+sub+"?fieldManager=m&force=true", c.document, "Content-Type",
			applyType)
		r.want(t, http.StatusOK)
		found := false
		for _, line := range r.owners(t) {
			found = found || line == c.owned
		}
		if !found {
			t.Errorf("apply to %s: owners\n%q\nwant one to be\n%s", sub, r.owners(t), c.owned)
		}
		var pod corev1.Pod
		r.into(t, &pod)
		if pod.Spec.Containers[0].Image != "i" {
			t.Errorf("apply to %s changed the image to %s", sub, pod.Spec.Containers[0].Image)
		}
	}
}

// TestIgnoredFieldsOfPartsHaveNoOwner checks that a patch of a part of a pod owns the fields of that part only, among
// them the resources of the whole pod.
func TestIgnoredFieldsOfPartsHaveNoOwner(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4"},
		"declaredFeatures":["InPlacePodLevelResourcesVerticalScaling"]}}`)
	w.send(t, http.MethodPost, podsPath+"?fieldManager=a", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","resources":
		{"requests":{"cpu":"1"}},"containers":[{"name":"c","image":"i"}]}}`).want(t, http.StatusCreated)
	for _, c := range []struct{ manager, sub, patch, owned string }{
		{"r", "resize", `{"metadata":{"labels":{"a":"b"}},"spec":{"resources":{"requests":{"cpu":"2"}},"hostname":"h",
			"containers":[{"name":"c","image":"other","env":[{"name":"E"}]}]},"status":{"reason":"r"}}`,
			`r Update/resize v1 {"f:spec":{"f:resources":{"f:requests":{"f:cpu":{}}}}}`},
		{"e", "ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"d","image":"i"}],"hostname":"h",
			"containers":[{"name":"c","image":"other"}]},"status":{"reason":"r"}}`,
			`e Update/ephemeralcontainers v1 {"f:spec":{"f:ephemeralContainers":{".":{},"k:{\"name\":\"d\"}":{".":{},` +
				`"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},` +
				`"f:terminationMessagePolicy":{}}}}}`},
	} {
		r := w.send(t, http.MethodPatch, podsPath+"/p/"+c.sub+"?fieldManager="+c.manager, c.patch, "Content-Type",
			strategicType).want(t, http.StatusOK)
		for _, line := range r.owners(t) {
			if strings.HasPrefix(line, c.manager+" ") && line != c.owned {
				t.Errorf("owner\n%s\nwant\n%s", line, c.owned)
			}
		}
		if !slices.Contains(r.owners(t), c.owned) {
			t.Errorf("owners\n%q\nwant one to be\n%s", r.owners(t), c.owned)
		}
	}
}

// TestBindings checks that a Binding binds the pod of its name, and is not stored.
func TestBindings(t *testing.T) {
	t.Parallel()
	w := start(t)
	const bindings = "/api/v1/namespaces/default/bindings"
	w.create(t, podsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	bind := func(query, pod string) response {
		return w.send(t, http.MethodPost, bindings+query, `{"metadata":{"name":"`+pod+`"},"target":{"name":"n"}}`)
	}
	bind("?dryRun=All", "p").want(t, http.StatusCreated)
	node := func() string {
		return must(w.clients.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{}))(t).Spec.NodeName
	}
	if got := node(); got != "" {
		t.Errorf("a dry run bound the pod to %s", got)
	}
	bind("", "p").want(t, http.StatusCreated)
	if got := node(); got != "n" {
		t.Errorf("the pod is on node %q, want n", got)
	}
	bind("", "p").wantError(t, http.StatusConflict, metav1.StatusReasonConflict, "already assigned to node")
	bind("", "none").wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound, `pods "none" not found`)
	w.send(t, http.MethodGet, bindings, "").wantError(t, http.StatusMethodNotAllowed,
		metav1.StatusReasonMethodNotAllowed, "")
}

// TestSigningRequestsNameTheirAuthor checks that the server, and not the client, says who asks for a certificate.
func TestSigningRequestsNameTheirAuthor(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	jane := admin.as(t, must(admin.IssueClient("jane", "system:masters"))(t))
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "example.com/s", Username: "eve",
			Groups: []string{"eves"}, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: newSigningRequest(t)}}
	created, err := jane.clients.CertificatesV1().CertificateSigningRequests().Create(t.Context(), csr,
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := created.Spec; s.Username != "jane" || len(s.Groups) != 2 || s.Groups[0] == "eves" {
		t.Errorf("the author is %q of %q", s.Username, s.Groups)
	}
}

// TestOwnersOfSigningRequests checks that no create or update owns the spec, which cannot change, and that the approval
// and the status own only what they change. As in Kubernetes, the owners of an object that was created without any are
// not recorded later either.
func TestOwnersOfSigningRequests(t *testing.T) {
	t.Parallel()
	w := start(t)
	const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	request := base64.StdEncoding.EncodeToString(newSigningRequest(t))
	for name, c := range map[string]struct {
		metadata string
		want     []string
	}{
		"plain": {`"name":"plain"`, nil},
		"labeled": {`"name":"labeled","labels":{"a":"b"}`, []string{
			`a Update/approval certificates.k8s.io/v1 {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Approved\"}":` +
				`{".":{},"f:lastTransitionTime":{},"f:lastUpdateTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`,
			`m Update certificates.k8s.io/v1 {"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`,
		}},
	} {
		w.send(t, http.MethodPost, path+"?fieldManager=m", `{"metadata":{`+c.metadata+`},"spec":{"request":"`+request+
			`","signerName":"example.com/s","usages":["client auth"]},"status":{"certificate":"eA=="}}`).want(t,
			http.StatusCreated)
		w.send(t, http.MethodPatch, path+"/"+name+"/approval?fieldManager=a", `{"spec":{"signerName":"x"},"status":{
			"certificate":"eA==","conditions":[{"type":"Approved","status":"True","reason":"r","message":"m"}]}}`,
			"Content-Type", mergeType).owned(t, c.want...)
	}
}

// newSigningRequest returns a certificate request in PEM.
func newSigningRequest(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}
	der := must(x509.CreateCertificateRequest(rand.Reader, template, key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
