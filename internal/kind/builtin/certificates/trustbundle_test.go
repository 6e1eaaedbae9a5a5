package certificates

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestTrustBundleNames checks the rules of ValidateClusterTrustBundleName (pkg/apis/core/validation/names.go).
func TestTrustBundleNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ signer, name, want string }{
		{"", "a", ""},
		{"", "a:b", `ClusterTrustBundle without signer name must not have ":" in its name`},
		{"", "A", subdomain},
		{"a.b/c", "a.b:c:d", ""},
		{"a.b/c", "d", "ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"},
		{"a.b/c", "a.b:c:D", subdomain},
	} {
		if got := strings.Join(bundleNameProblems(c.signer)(c.name, false), ", "); got != c.want {
			t.Errorf("the name %s for %q: got %q, want %q", c.name, c.signer, got, c.want)
		}
	}
}

// TestTrustBundleRules checks the rules of ValidateClusterTrustBundle and ValidateClusterTrustBundleUpdate
// (pkg/apis/certificates/validation).
func TestTrustBundleRules(t *testing.T) {
	t.Parallel()
	der := certificateOf(t, newKey(t), authority())
	anchor := string(inPEM(certificateBlock, der))
	other := string(inPEM(certificateBlock, certificateOf(t, newKey(t), authority())))
	leaf := string(inPEM(certificateBlock, certificateOf(t, newKey(t), x509.Certificate{})))
	invalid := func(details ...string) (errs []string) {
		for _, d := range details {
			errs = append(errs, `spec.trustBundle: Invalid value: "<value omitted>": `+d)
		}
		return errs
	}
	for name, c := range map[string]struct {
		signer, anchors string
		change          func(b, old *trustBundle) // nil for a create
		want            []string
	}{
		"two anchors":    {anchors: anchor + "text\n" + other},
		"a signer":       {signer: "a.b/c", anchors: anchor},
		"no anchor":      {want: invalid("at least one trust anchor must be provided")},
		"the same twice": {anchors: anchor + other + anchor, want: invalid("duplicate trust anchor (indices [0 2])")},
		"other blocks": {anchors: string(inPEM("KEY", der)) + leaf + string(inPEM(certificateBlock, []byte("x"))) +
			strings.Replace(anchor, "-----\n", "-----\nA: b\n\n", 1) + anchor + anchor,
			want: invalid("entry 0 has bad block type: KEY", "entry 1 does not have the CA bit set",
				"entry 2 does not parse as X.509", "entry 3 has PEM block headers")},
		"too long": {anchors: strings.Repeat("a", 1<<20+1),
			want: []string{"spec.trustBundle: Too long: may not be more than 1048576 bytes"}},
		"a bad signer": {signer: "a", anchors: anchor,
			want: []string{`spec.signerName: Invalid value: "a": must be a fully qualified domain and path of the form 'example.com/signer-name'`}},
		"the same anchors as before": {anchors: "x", change: func(_, _ *trustBundle) {}},
		"other anchors": {anchors: anchor, change: func(b, _ *trustBundle) { b.Spec.TrustBundle = "x" },
			want: invalid("at least one trust anchor must be provided")},
		"another signer": {signer: "a.b/c", anchors: anchor,
			change: func(b, _ *trustBundle) { b.Spec.SignerName = "a.b/d" },
			want: []string{
				`metadata.name: Invalid value: "a.b:c:x": ClusterTrustBundle for signerName a.b/d must be named with prefix a.b:d:`,
				`spec.signerName: Invalid value: "a.b/d": field is immutable`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &trustBundle{ObjectMeta: metav1.ObjectMeta{Name: "x"},
				Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: c.signer, TrustBundle: c.anchors}}
			if c.signer != "" {
				b.Name = strings.ReplaceAll(c.signer, "/", ":") + ":x"
			}
			k := trustBundleKind(object.NewCache(1))
			if c.change == nil {
				compare(t, k.Validate(t.Context(), b, nil, ""), c.want)
				return
			}
			old := b.DeepCopy()
			c.change(b, old)
			compare(t, k.Validate(t.Context(), b, old, ""), c.want)
		})
	}
	b := &trustBundle{ObjectMeta: metav1.ObjectMeta{GenerateName: "AB-", Name: "AB-1"},
		Spec: certificatesv1.ClusterTrustBundleSpec{TrustBundle: anchor}}
	compare(t, trustBundleKind(object.NewCache(1)).Validate(t.Context(), b, nil, ""), []string{
		`metadata.generateName: Invalid value: "AB-": ` + subdomain, `metadata.name: Invalid value: "AB-1": ` + subdomain})
}

// TestHostileBundlesAreQuicklyValidated validates texts that would make a parser with backtracking slow.
func TestHostileBundlesAreQuicklyValidated(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"starts":       "-----BEGIN CERTIFICATE-----\n",
		"empty blocks": "-----BEGIN A-----\n-----END A-----\n",
		"mismatches":   "-----BEGIN A-----\n-----END B-----\n",
		"long blocks":  string(inPEM(certificateBlock, slices.Repeat([]byte{0x30}, 10_000))),
	} {
		b := &trustBundle{Spec: certificatesv1.ClusterTrustBundleSpec{
			TrustBundle: strings.Repeat(unit, maxTrustBundle/len(unit))}}
		started := time.Now()
		errs := validateTrustBundle(b, nil, "")
		if took := time.Since(started); took > 5*time.Second || len(errs) == 0 {
			t.Errorf("%s: %d errors after %v", name, len(errs), took)
		}
	}
}

func TestTrustBundleRows(t *testing.T) {
	t.Parallel()
	k := trustBundleKind(object.NewCache(1))
	for signer, want := range map[string]string{"": "<none>", "a.b/c": "a.b/c"} {
		b := &trustBundle{ObjectMeta: metav1.ObjectMeta{Name: "x"},
			Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer}}
		got, err := k.Row(b, "", time.Now())
		if diff := gocmp.Diff([]any{"x", want}, got); diff != "" || err != nil || len(got) != len(k.Columns("")) {
			t.Errorf("%v, cells (-want +got):\n%s", err, diff)
		}
	}
}
