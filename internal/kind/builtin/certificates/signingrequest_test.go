package certificates

import (
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

type condition = certificatesv1.CertificateSigningRequestCondition

func validSigningRequest(t *testing.T) *signingRequest {
	t.Helper()
	return &signingRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "Any:Name"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    inPEM(requestBlock, requestOf(t, newKey(t))),
			SignerName: "example.com/signer",
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}
}

// TestSigningRequestRules checks the rules of ValidateCertificateSigningRequestCreate
// (pkg/apis/certificates/validation).
func TestSigningRequestRules(t *testing.T) {
	t.Parallel()
	tampered := requestOf(t, newKey(t))
	tampered[len(tampered)-1] ^= 1
	_, garbage := x509.ParseCertificateRequest([]byte("x"))
	for name, c := range map[string]struct {
		change func(csr *signingRequest)
		want   []string
	}{
		"a valid request": {func(*signingRequest) {}, nil},
		"every usage":     {func(csr *signingRequest) { csr.Spec.Usages = usages }, nil},
		"no request": {func(csr *signingRequest) { csr.Spec.Request = nil },
			[]string{"spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST"}},
		"another block": {func(csr *signingRequest) { csr.Spec.Request = []byte("nope") },
			[]string{`spec.request: Invalid value: "bm9wZQ==": PEM block type must be CERTIFICATE REQUEST`}},
		"a block that is no request": {func(csr *signingRequest) {
			csr.Spec.Request = inPEM(requestBlock, []byte("x"))
		}, []string{"spec.request: Invalid value: " +
			`"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KZUE9PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K": ` +
			garbage.Error()}},
		"no usages": {func(csr *signingRequest) { csr.Spec.Usages = nil }, []string{"spec.usages: Required value"}},
		"an unknown usage": {func(csr *signingRequest) { csr.Spec.Usages = []certificatesv1.KeyUsage{"x"} },
			[]string{`spec.usages[0]: Unsupported value: "x": supported values: "any", "cert sign", "client auth", ` +
				`"code signing", "content commitment", "crl sign", "data encipherment", "decipher only", ` +
				`"digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", ` +
				`"ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", ` +
				`"s/mime", "server auth", "signing", "timestamping"`}},
		"a repeated usage": {func(csr *signingRequest) {
			csr.Spec.Usages = append(csr.Spec.Usages, csr.Spec.Usages...)
		}, []string{`spec.usages[1]: Duplicate value: "client auth"`}},
		"no signer": {func(csr *signingRequest) { csr.Spec.SignerName = "" },
			[]string{"spec.signerName: Required value"}},
		"the legacy signer": {func(csr *signingRequest) { csr.Spec.SignerName = legacySigner },
			[]string{`spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version`}},
		"ten minutes": {func(csr *signingRequest) { csr.Spec.ExpirationSeconds = new(int32(600)) }, nil},
		"less than ten minutes": {func(csr *signingRequest) { csr.Spec.ExpirationSeconds = new(int32(599)) },
			[]string{"spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			csr := validSigningRequest(t)
			c.change(csr)
			compare(t, signingRequestKind(object.NewCache(1)).Validate(t.Context(), csr, nil, ""), c.want)
		})
	}
	if err := checkRequest(inPEM(requestBlock, tampered)); err == nil || !strings.Contains(err.Error(), "verification") {
		t.Errorf("a request with another signature: %v", err)
	}
}

// TestSigningRequestUpdates checks the rules of ValidateCertificateSigningRequestUpdate, StatusUpdate and
// ApprovalUpdate, and the declarative rule of status.conditions.
func TestSigningRequestUpdates(t *testing.T) {
	t.Parallel()
	issued := inPEM(certificateBlock, certificateOf(t, newKey(t), authority()))
	isTrue := func(types ...certificatesv1.RequestConditionType) (all []condition) {
		for _, is := range types {
			all = append(all, condition{Type: is, Status: corev1.ConditionTrue})
		}
		return all
	}
	const approved, denied = certificatesv1.CertificateApproved, certificatesv1.CertificateDenied
	both := []string{`status.conditions: Invalid value: "{conditions[{\"type\": \"Approved\"}], ` +
		`conditions[{\"type\": \"Denied\"}]}": must specify at most one of: ` +
		"`conditions[{\"type\": \"Approved\"}]`, `conditions[{\"type\": \"Denied\"}]`"}
	for name, c := range map[string]struct {
		sub    string
		change func(csr, old *signingRequest)
		want   []string
	}{
		"nothing": {"", func(_, _ *signingRequest) {}, nil},
		"rules that the stored object violates": {"", func(csr, old *signingRequest) {
			old.Spec.SignerName, old.Spec.Usages = legacySigner, []certificatesv1.KeyUsage{"x", "x"}
			old.Status.Conditions = append(isTrue(approved, denied, "A", "A"), condition{Status: "True"})
			old.Status.Certificate = []byte("x")
			csr.Spec, csr.Status = old.Spec, old.Status
		}, nil},
		"a label": {"", func(csr, _ *signingRequest) { csr.Labels = map[string]string{"a": "-"} }, []string{
			`metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric ` +
				`characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or ` +
				`'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		"an approval": {approvalSub, func(csr, _ *signingRequest) { csr.Status.Conditions = isTrue(approved) }, nil},
		"an approval in the status": {statusSub, func(csr, _ *signingRequest) {
			csr.Status.Conditions = isTrue(approved)
		}, []string{`status.conditions: Forbidden: updates may not add a condition of type "Approved"`}},
		"a removed approval": {approvalSub, func(_, old *signingRequest) { old.Status.Conditions = isTrue(approved) },
			[]string{`status.conditions: Forbidden: updates may not remove a condition of type "Approved"`}},
		"a removed failure": {statusSub, func(_, old *signingRequest) { old.Status.Conditions = isTrue("Failed") },
			[]string{`status.conditions: Forbidden: updates may not remove a condition of type "Failed"`}},
		"an approval and a denial": {approvalSub, func(csr, _ *signingRequest) {
			csr.Status.Conditions = isTrue(approved, denied)
		}, both},
		"a denial of an approved request": {approvalSub, func(csr, old *signingRequest) {
			old.Status.Conditions = isTrue(approved)
			csr.Status.Conditions = isTrue(denied, approved)
		}, both},
		"an approval that is not true": {approvalSub, func(csr, _ *signingRequest) {
			csr.Status.Conditions = []condition{{Type: approved, Status: "False"}, {Type: "Mine", Status: "False"}}
		}, []string{`status.conditions[0].status: Unsupported value: "False": supported values: "True"`}},
		"conditions without type and status": {statusSub, func(csr, _ *signingRequest) {
			csr.Status.Conditions = []condition{{Status: "Maybe"}, {Type: "A"}, {Type: "A", Status: "Unknown"}}
		}, []string{
			"status.conditions[0].type: Required value",
			`status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`,
			"status.conditions[1].status: Required value",
			`status.conditions[2].type: Duplicate value: "A"`}},
		"a certificate": {statusSub, func(csr, _ *signingRequest) { csr.Status.Certificate = issued }, nil},
		"another certificate": {statusSub, func(csr, old *signingRequest) {
			csr.Status.Certificate, old.Status.Certificate = append([]byte("text\n"), issued...), issued
		}, []string{"status.certificate: Forbidden: updates may not modify existing certificate content"}},
		"a text that is no certificate": {statusSub, func(csr, _ *signingRequest) {
			csr.Status.Certificate = []byte("x")
		}, []string{`status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			csr := validSigningRequest(t)
			old := csr.DeepCopy()
			c.change(csr, old)
			compare(t, signingRequestKind(object.NewCache(1)).Validate(t.Context(), csr, old, c.sub), c.want)
		})
	}
}

// TestIssuedCertificates checks the rules of validateCertificate.
func TestIssuedCertificates(t *testing.T) {
	t.Parallel()
	der := certificateOf(t, newKey(t), authority())
	issued := inPEM(certificateBlock, der)
	_, garbage := x509.ParseCertificates([]byte("x"))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":            {nil, ""},
		"two certificates":   {slices.Concat(issued, []byte("text\n"), issued), ""},
		"another block":      {slices.Concat(issued, inPEM("KEY", der)), `only CERTIFICATE PEM blocks are allowed, found "KEY"`},
		"an empty block":     {inPEM(certificateBlock, nil), "found CERTIFICATE PEM block containing 0 certificates"},
		"a block of garbage": {inPEM(certificateBlock, []byte("x")), garbage.Error()},
		"headers": {[]byte(strings.Replace(string(issued), "-----\n", "-----\nA: b\n\n", 1)),
			"no PEM block headers are permitted"},
	} {
		got := ""
		if err := checkCertificates(c.data); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestHugeRSAKeysAreNotChecked uses a modulus with which the check of a signature takes minutes.
func TestHugeRSAKeysAreNotChecked(t *testing.T) {
	t.Parallel()
	modulus := new(big.Int).Lsh(big.NewInt(1), 8<<20)
	key, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: modulus.SetBit(modulus, 0, 1), E: 1<<31 - 1})
	if err != nil {
		t.Fatal(err)
	}
	type info struct {
		Version    int
		Subject    asn1.RawValue
		Key        asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}
	der, err := asn1.Marshal(struct {
		Info      info
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		info{Subject: asn1.RawValue{FullBytes: []byte{0x30, 0}}, Key: asn1.RawValue{FullBytes: key}},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11},
			Parameters: asn1.NullRawValue},
		asn1.BitString{Bytes: make([]byte, 1<<20), BitLength: 8 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "RSA keys must have at most 16384 bits"
	if err := checkRequest(inPEM(requestBlock, der)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestSigningRequestWrites checks what the strategies of pkg/registry/certificates/certificates preserve.
func TestSigningRequestWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now, before := metav1.Now(), metav1.NewTime(time.Now().Add(-time.Hour))
		user := certificatesv1.CertificateSigningRequestSpec{Username: "u", UID: "1", Groups: []string{"g"},
			Extra: map[string]certificatesv1.ExtraValue{"k": {"v"}}}
		sent := &signingRequest{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"sent": ""}},
			Spec:       user,
			Status: certificatesv1.CertificateSigningRequestStatus{Certificate: []byte("sent"), Conditions: []condition{
				{Type: "A", Status: "True"}, {Type: "B", Status: "True"}, {Type: "Approved", Status: "True"},
			}},
		}
		old := &signingRequest{
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "old"},
			Status: certificatesv1.CertificateSigningRequestStatus{Certificate: []byte("old"), Conditions: []condition{
				{Type: "Approved", Status: "True", Reason: "old", LastTransitionTime: before, LastUpdateTime: before},
				{Type: "A", Status: "True", LastTransitionTime: before},
				{Type: "B", Status: "False", LastTransitionTime: before},
			}},
		}
		stored := old.DeepCopy()
		approved := []condition{
			{Type: "A", Status: "True", LastUpdateTime: now, LastTransitionTime: before},
			{Type: "B", Status: "True", LastUpdateTime: now, LastTransitionTime: now},
			{Type: "Approved", Status: "True", LastUpdateTime: now, LastTransitionTime: before},
		}
		for name, c := range map[string]struct {
			old  *signingRequest
			sub  string
			want certificatesv1.CertificateSigningRequestStatus
		}{
			"create":   {nil, "", certificatesv1.CertificateSigningRequestStatus{}},
			"update":   {old, "", old.Status},
			"approval": {old, approvalSub, certificatesv1.CertificateSigningRequestStatus{Certificate: []byte("old"), Conditions: approved}},
			"status": {old, statusSub, certificatesv1.CertificateSigningRequestStatus{Certificate: []byte("sent"),
				Conditions: []condition{approved[0], approved[1], old.Status.Conditions[0]}}},
		} {
			csr, spec := sent.DeepCopy(), certificatesv1.CertificateSigningRequestSpec{}
			if c.old == nil {
				signingRequestKind(object.NewCache(1)).Prepare(csr, nil, c.sub)
			} else {
				signingRequestKind(object.NewCache(1)).Prepare(csr, c.old, c.sub)
				spec.SignerName = "old"
			}
			if diff := gocmp.Diff(c.want, csr.Status); diff != "" {
				t.Errorf("%s: the status (-want +got):\n%s", name, diff)
			}
			if diff := gocmp.Diff(spec, csr.Spec); diff != "" {
				t.Errorf("%s: the spec (-want +got):\n%s", name, diff)
			}
			if _, ok := csr.Labels["sent"]; !ok || csr.Generation != 0 {
				t.Errorf("%s: labels %v, generation %d", name, csr.Labels, csr.Generation)
			}
		}
		if diff := gocmp.Diff(stored, old); diff != "" {
			t.Errorf("the old object changed:\n%s", diff)
		}
		csr := &signingRequest{Spec: certificatesv1.CertificateSigningRequestSpec{Username: "x",
			Extra: map[string]certificatesv1.ExtraValue{"x": nil}}}
		setAuthor(csr, kind.Author{Name: "u", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}})
		named := user
		named.UID = "" // users have no uid yet
		if diff := gocmp.Diff(named, csr.Spec); diff != "" {
			t.Errorf("the requester (-want +got):\n%s", diff)
		}
	})
}

// TestManyConditionsAreQuicklyPrepared writes as many conditions as an object can have.
func TestManyConditionsAreQuicklyPrepared(t *testing.T) {
	t.Parallel()
	old := &signingRequest{}
	for i := range 50_000 {
		old.Status.Conditions = append(old.Status.Conditions,
			condition{Type: certificatesv1.RequestConditionType(strings.Repeat("a", i%20) + string(rune('a'+i)))})
	}
	csr, started := old.DeepCopy(), time.Now()
	signingRequestKind(object.NewCache(1)).Prepare(csr, old, statusSub)
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestSigningRequestRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	created := metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}
	status := func(certificate string,
		types ...certificatesv1.RequestConditionType) certificatesv1.CertificateSigningRequestStatus {
		s := certificatesv1.CertificateSigningRequestStatus{Certificate: []byte(certificate)}
		for _, is := range types {
			s.Conditions = append(s.Conditions, condition{Type: is})
		}
		return s
	}
	for _, c := range []struct {
		csr  signingRequest
		want []any
	}{
		{signingRequest{ObjectMeta: created}, []any{"a", "60s", "<none>", "", "<none>", "Pending"}},
		{signingRequest{ObjectMeta: created, Status: status("c", "Approved"),
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "a.b/c", Username: "u",
				ExpirationSeconds: new(int32(7200))}},
			[]any{"a", "60s", "a.b/c", "u", "120m", "Approved,Issued"}},
		{signingRequest{ObjectMeta: created, Status: status("", "Approved", "Denied", "Failed")},
			[]any{"a", "60s", "<none>", "", "<none>", "Denied,Failed"}},
	} {
		k := signingRequestKind(object.NewCache(1))
		got, err := k.Row(&c.csr, "certificates.k8s.io/v1", now)
		if diff := gocmp.Diff(c.want, got); diff != "" || err != nil || len(got) != len(k.Columns("")) {
			t.Errorf("%v, cells (-want +got):\n%s", err, diff)
		}
	}
}

func TestSelectableFields(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1)) {
		fields := k.Fields(k.New())
		for name := range k.Info().Endpoints[0].Selectable {
			if _, ok := fields[name]; !ok {
				t.Errorf("%s has no value of %s", k.Info().Kind, name)
			}
		}
	}
	r := &podRequest{Spec: certificatesv1.PodCertificateRequestSpec{SignerName: "s", PodName: "p", NodeName: "n"}}
	want := map[string]string{"spec.signerName": "s", "spec.podName": "p", "spec.nodeName": "n"}
	if diff := gocmp.Diff(want, podRequestKind(object.NewCache(1)).Fields(r)); diff != "" {
		t.Error(diff)
	}
}
