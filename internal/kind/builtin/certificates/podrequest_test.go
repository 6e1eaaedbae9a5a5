package certificates

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

func validPodRequest(stub []byte) *podRequest {
	r := &podRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "default"},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: "a.b/c", PodName: "p", PodUID: "1", ServiceAccountName: "s", ServiceAccountUID: "2",
			NodeName: "n", NodeUID: "3", StubPKCS10Request: stub,
		},
	}
	defaultPodRequest(r)
	return r
}

// TestPodRequestRules checks the rules of ValidatePodCertificateRequestCreate (pkg/apis/certificates/validation).
func TestPodRequestRules(t *testing.T) {
	t.Parallel()
	tampered := requestOf(t, newKey(t))
	tampered[len(tampered)-1] ^= 1
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	long := types.UID(strings.Repeat("u", 129))
	for name, c := range map[string]struct {
		change func(s *certificatesv1.PodCertificateRequestSpec)
		want   []string
	}{
		"a valid request": {func(*certificatesv1.PodCertificateRequestSpec) {}, nil},
		"a key on P-256": {func(s *certificatesv1.PodCertificateRequestSpec) {
			s.StubPKCS10Request = requestOf(t, newECKey(t, elliptic.P256()))
		}, nil},
		"a key on P-224": {func(s *certificatesv1.PodCertificateRequestSpec) {
			s.StubPKCS10Request = requestOf(t, newECKey(t, elliptic.P224()))
		}, []string{`spec.stubPKCS10Request: Invalid value: "curve P-224": elliptic public keys must use curve P256, P384, or P521`}},
		"a short RSA key": {func(s *certificatesv1.PodCertificateRequestSpec) {
			s.StubPKCS10Request = requestOf(t, short)
		}, []string{`spec.stubPKCS10Request: Invalid value: "1024-bit modulus": RSA keys must have modulus size 3072 or 4096`}},
		"another signature": {func(s *certificatesv1.PodCertificateRequestSpec) { s.StubPKCS10Request = tampered },
			[]string{"spec.stubPKCS10Request: Invalid value: invalid signature"}},
		"garbage": {func(s *certificatesv1.PodCertificateRequestSpec) { s.StubPKCS10Request = []byte("x") },
			[]string{"spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"}},
		"a long stub": {func(s *certificatesv1.PodCertificateRequestSpec) { s.StubPKCS10Request = make([]byte, 10241) },
			[]string{"spec.stubPKCS10Request: Too long: may not be more than 10240 bytes"}},
		"no key": {func(s *certificatesv1.PodCertificateRequestSpec) { s.StubPKCS10Request = nil },
			[]string{"spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"}},
		"nothing": {func(s *certificatesv1.PodCertificateRequestSpec) { *s = certificatesv1.PodCertificateRequestSpec{} },
			[]string{
				"spec.signerName: Required value",
				`spec.podName: Invalid value: "": ` + subdomain,
				`spec.podUID: Invalid value: "": must not be empty`,
				`spec.serviceAccountName: Invalid value: "": ` + subdomain,
				`spec.serviceAccountUID: Invalid value: "": must not be empty`,
				`spec.nodeName: Invalid value: "": ` + subdomain,
				`spec.nodeUID: Invalid value: "": must not be empty`,
				"spec.maxExpirationSeconds: Required value: must be set"}},
		"long uids": {func(s *certificatesv1.PodCertificateRequestSpec) {
			s.PodUID, s.ServiceAccountUID, s.NodeUID = long, long, long
		}, []string{
			"spec.podUID: Too long: may not be more than 128 bytes",
			"spec.serviceAccountUID: Too long: may not be more than 128 bytes",
			"spec.nodeUID: Too long: may not be more than 128 bytes"}},
		"annotations": {func(s *certificatesv1.PodCertificateRequestSpec) {
			s.UnverifiedUserAnnotations = map[string]string{"A.b/c": "", "D": "", "e.f/g": strings.Repeat("v", 1<<18)}
		}, []string{
			`spec.unverifiedUserAnnotations: Invalid value: "d": must be a domain-prefixed key (such as "acme.io/foo")`,
			"spec.unverifiedUserAnnotations: Too long: may not be more than 262144 bytes"}},
		"less than an hour": {func(s *certificatesv1.PodCertificateRequestSpec) { *s.MaxExpirationSeconds = 3599 },
			[]string{"spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]"}},
		"91 days": {func(s *certificatesv1.PodCertificateRequestSpec) { *s.MaxExpirationSeconds = 7862400 }, nil},
		"more than 91 days": {func(s *certificatesv1.PodCertificateRequestSpec) { *s.MaxExpirationSeconds = 7862401 },
			[]string{"spec.maxExpirationSeconds: Invalid value: 7862401: must be in the range [3600, 7862400]"}},
		"more than a day of Kubernetes' own signer": {func(s *certificatesv1.PodCertificateRequestSpec) {
			s.SignerName, *s.MaxExpirationSeconds = "kubernetes.io/x", 86401
		}, []string{"spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := validPodRequest(requestOf(t, newKey(t)))
			c.change(&r.Spec)
			compare(t, podRequestKind(object.NewCache(1)).Validate(t.Context(), r, nil, ""), c.want)
		})
	}
}

func TestPodRequestWrites(t *testing.T) {
	t.Parallel()
	k := podRequestKind(object.NewCache(1))
	old := validPodRequest([]byte("x"))
	old.Labels, old.Finalizers = map[string]string{"old": ""}, []string{"a.b/old"}
	r := old.DeepCopy()
	r.Labels, r.Annotations, r.Finalizers = map[string]string{"sent": ""}, map[string]string{"sent": ""}, nil
	r.Spec.PodName, r.Status.CertificateChain = "sent", "sent"
	status := r.DeepCopy()
	k.Prepare(status, old, statusSub)
	want := old.DeepCopy()
	want.Status.CertificateChain = "sent"
	if diff := gocmp.Diff(want, status); diff != "" {
		t.Errorf("a write of the status (-want +got):\n%s", diff)
	}
	update := r.DeepCopy()
	k.Prepare(update, old, "")
	if update.Status.CertificateChain != "" || len(update.Annotations) == 0 || update.Generation != 0 {
		t.Errorf("an update: %v", update)
	}
	compare(t, k.Validate(t.Context(), update, old, ""), []string{
		`spec: Invalid value: {"SignerName":"a.b/c","PodName":"sent","PodUID":"1","ServiceAccountName":"s",` +
			`"ServiceAccountUID":"2","NodeName":"n","NodeUID":"3","MaxExpirationSeconds":86400,"PKIXPublicKey":null,` +
			`"ProofOfPossession":null,"StubPKCS10Request":"eA==","UnverifiedUserAnnotations":null}: field is immutable`})
	update.Spec = old.Spec
	compare(t, k.Validate(t.Context(), update, old, ""), nil)
	k.Prepare(r, nil, "")
	if r.Status.CertificateChain != "" {
		t.Error("a create retains the status")
	}
}

func TestPodRequestRows(t *testing.T) {
	t.Parallel()
	k := podRequestKind(object.NewCache(1))
	r := validPodRequest(nil)
	r.Spec.UnverifiedUserAnnotations = map[string]string{"c.d/e": "2", "a.b/c": "1"}
	annotations := "a.b/c=1,c.d/e=2"
	for _, state := range []string{"Pending", issued, denied, failed} {
		if state != "Pending" {
			r.Status.Conditions = []metav1.Condition{{Type: state}}
			r.Spec.UnverifiedUserAnnotations, annotations = nil, "<none>"
		}
		got, err := k.Row(r, "", time.Now())
		want := []any{"r", "p", "s", "n", "a.b/c", state, annotations}
		if diff := gocmp.Diff(want, got); diff != "" || err != nil || len(got) != len(k.Columns("")) {
			t.Errorf("%v, cells (-want +got):\n%s", err, diff)
		}
	}
	for _, c := range k.Columns("") {
		if c.Description == "" {
			t.Errorf("the column %s has no description", c.Name)
		}
	}
}

// ending is the condition of a request that has ended.
func ending(is string) []metav1.Condition {
	return []metav1.Condition{{Type: is, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()}}
}

// TestPodRequestEndings checks the rules of ValidatePodCertificateRequestStatusUpdate for conditions
// (pkg/apis/certificates/validation).
func TestPodRequestEndings(t *testing.T) {
	t.Parallel()
	at := metav1.Now()
	const unchanged = `status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"`
	for name, c := range map[string]struct {
		is, was certificatesv1.PodCertificateRequestStatus
		want    []string
	}{
		"nothing": {},
		"a time":  {is: certificatesv1.PodCertificateRequestStatus{NotAfter: &at}, want: []string{unchanged}},
		"denied":  {is: certificatesv1.PodCertificateRequestStatus{Conditions: ending(denied)}},
		"failed":  {is: certificatesv1.PodCertificateRequestStatus{Conditions: ending(failed)}},
		"denied with a certificate": {
			is:   certificatesv1.PodCertificateRequestStatus{Conditions: ending(denied), CertificateChain: "x"},
			want: []string{"status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest"}},
		"failed after denied": {
			is:   certificatesv1.PodCertificateRequestStatus{Conditions: ending(failed)},
			was:  certificatesv1.PodCertificateRequestStatus{Conditions: ending(denied)},
			want: []string{"status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"}},
		"denied and failed": {
			is:   certificatesv1.PodCertificateRequestStatus{Conditions: slices.Concat(ending(denied), ending(failed))},
			want: []string{`status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition with type "Issued", "Denied", or "Failed"`}},
		"other conditions": {
			is: certificatesv1.PodCertificateRequestStatus{Conditions: []metav1.Condition{
				{Type: denied, Status: "False", Reason: "R", LastTransitionTime: at},
				{Type: "Mine", Status: "True", LastTransitionTime: at}}},
			want: []string{
				`status.conditions.[0].status: Unsupported value: "False": supported values: "True"`,
				`status.conditions.[1].type: Unsupported value: "Mine": supported values: "Issued", "Denied", "Failed"`,
				"status.conditions[1].reason: Required value"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, old := validPodRequest(nil), validPodRequest(nil)
			r.Status, old.Status = c.is, c.was
			compare(t, podRequestKind(object.NewCache(1)).Validate(t.Context(), r, old, statusSub), c.want)
		})
	}
}

// TestIssuedPodRequests checks the rules of ValidatePodCertificateRequestStatusUpdate for certificates and times.
func TestIssuedPodRequests(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	key := newKey(t)
	pair := func(from, until time.Time, change func(c *x509.Certificate)) string {
		leaf := x509.Certificate{NotBefore: from, NotAfter: until}
		if change != nil {
			change(&leaf)
		}
		return string(inPEM(certificateBlock, certificateOf(t, key, leaf)))
	}
	day := now.Add(24 * time.Hour)
	good := pair(now, day, nil)
	quoted := func(chain string) string {
		return `status.certificateChain: Invalid value: ` + strconv.Quote(chain) + `: `
	}
	stamp := func(at time.Time) string { return `"` + at.Format(time.RFC3339Nano) + `"` }
	names := pair(now, day, func(c *x509.Certificate) {
		c.DNSNames, c.EmailAddresses = []string{"a..b", ".c", "d."}, []string{"x"}
	})
	badBlock, badDER := string(inPEM("KEY", []byte("x"))), string(inPEM(certificateBlock, []byte("x")))
	for name, c := range map[string]struct {
		chain                   string
		notBefore, after, fresh time.Time
		change                  func(r, old *podRequest)
		want                    []string
	}{
		"issued":               {chain: good, notBefore: now, after: day, fresh: now.Add(time.Hour)},
		"with an intermediate": {chain: good + "text\n" + good, notBefore: now, after: day, fresh: now.Add(time.Hour)},
		"no certificate": {chain: "x",
			want: []string{quoted("x") + "issued certificate chain must contain at least one certificate"}},
		"another block": {chain: badBlock,
			want: []string{quoted(badBlock) + "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"}},
		"garbage": {chain: badDER, want: []string{quoted(badDER) + "leaf certificate does not parse as valid X.509"}},
		"too long": {chain: strings.Repeat("x", 100<<10+1),
			want: []string{"status.certificateChain: Too long: may not be more than 102400 bytes"}},
		"an intermediate in another block": {chain: good + badBlock, notBefore: now, after: day, fresh: now.Add(time.Hour),
			want: []string{quoted(good+badBlock) + "issued certificate chain must consist entirely of CERTFICATE PEM blocks"}},
		"an intermediate of garbage": {chain: good + badDER, notBefore: now, after: day, fresh: now.Add(time.Hour),
			want: []string{quoted(good+badDER) + "intermediate certificate does not parse as valid X.509"}},
		"another key": {chain: good, change: func(_, old *podRequest) {
			old.Spec.StubPKCS10Request = requestOf(t, newKey(t))
		}, want: []string{quoted(good) + "leaf certificate was not issued to the requested public key"}},
		"an unreadable stub": {chain: good, change: func(_, old *podRequest) { old.Spec.StubPKCS10Request = nil },
			want: []string{"spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"}},
		"names, and no times": {chain: names, want: []string{
			`status.certificateChain: Invalid value: "a..b": leaf certificate's DNSName should not contain '..'`,
			`status.certificateChain: Invalid value: ".c": leaf certificate's DNSName should not start or end with '.'`,
			`status.certificateChain: Invalid value: "d.": leaf certificate's DNSName should not start or end with '.'`,
			`status.certificateChain: Invalid value: "x": leaf certificate should not contain invalid EmailAddress`,
			"status.notBefore: Required value: must be present and consistent with the issued certificate",
			"status.notAfter: Required value: must be present and consistent with the issued certificate",
			"status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]"}},
		"another start": {chain: good, notBefore: now.Add(time.Second), after: day, fresh: now,
			want: []string{"status.notBefore: Invalid value: " + stamp(now.Add(time.Second)) +
				": must be set to the NotBefore time encoded in the leaf certificate"}},
		"a start long ago": {chain: pair(now.Add(-time.Hour), day, nil), notBefore: now.Add(-time.Hour), after: day,
			fresh: now, want: []string{"status.notBefore: Invalid value: " + stamp(now.Add(-time.Hour)) +
				": must be set to within 5 minutes of kube-apiserver's current time"}},
		"another end": {chain: good, notBefore: now, after: day.Add(time.Second), fresh: now,
			want: []string{"status.notAfter: Invalid value: " + stamp(day.Add(time.Second)) +
				": must be set to the NotAfter time encoded in the leaf certificate"}},
		"less than an hour": {chain: pair(now, now.Add(time.Minute), nil), notBefore: now, after: now.Add(time.Minute),
			fresh: now,
			want:  []string{"status.certificateChain: Invalid value: 60000000000: leaf certificate lifetime must be >= 1 hour"}},
		"more than requested": {chain: good, notBefore: now, after: day, fresh: now.Add(time.Hour),
			change: func(r, _ *podRequest) { *r.Spec.MaxExpirationSeconds = 86399 },
			want: []string{"status.certificateChain: Invalid value: 86400000000000: leaf certificate lifetime must be <= " +
				"spec.maxExpirationSeconds (86399)"}},
		"no limit on disk": {chain: good, notBefore: now, after: day, fresh: now.Add(time.Hour),
			change: func(r, _ *podRequest) { r.Spec.MaxExpirationSeconds = nil }},
		"a refresh at once": {chain: good, notBefore: now, after: day, fresh: now,
			want: []string{"status.beginRefreshAt: Invalid value: " + stamp(now) + ": must be at least 10 minutes after status.notBefore"}},
		"a refresh at the end": {chain: good, notBefore: now, after: day, fresh: day,
			want: []string{"status.beginRefreshAt: Invalid value: " + stamp(day) + ": must be at least 10 minutes before status.notAfter"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := validPodRequest(requestOf(t, key))
			r := old.DeepCopy()
			r.Status = certificatesv1.PodCertificateRequestStatus{Conditions: ending(issued), CertificateChain: c.chain}
			if !c.notBefore.IsZero() {
				r.Status.NotBefore, r.Status.NotAfter = new(metav1.NewTime(c.notBefore)), new(metav1.NewTime(c.after))
				r.Status.BeginRefreshAt = new(metav1.NewTime(c.fresh))
			}
			if c.change != nil {
				c.change(r, old)
			}
			compare(t, podRequestKind(object.NewCache(1)).Validate(t.Context(), r, old, statusSub), c.want)
		})
	}
}
