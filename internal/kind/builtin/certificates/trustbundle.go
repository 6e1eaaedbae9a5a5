package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func trustBundleKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ClusterTrustBundle", Plural: "clustertrustbundles", Singular: "clustertrustbundle",
		Endpoints:         trustBundleEndpoints(),
		ConditionalUpdate: true,
		// The valid names depend on the signer: see validateTrustBundle.
		ValidName: anyName,
	}, kind.Rules[*trustBundle]{
		Validate: fieldcheck.WithFinalizers(validateTrustBundle),
		Fields: func(b *trustBundle) map[string]string {
			return map[string]string{"spec.signerName": b.Spec.SignerName}
		},
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "SignerName", Type: "string",
				Description: certificatesv1.ClusterTrustBundleSpec{}.SwaggerDoc()["signerName"]},
		},
		Row: func(b *trustBundle, _ time.Time) []any {
			if b.Spec.SignerName == "" {
				return []any{b.Name, nothing}
			}
			return []any{b.Name, b.Spec.SignerName}
		},
	})
}

// trustBundleEndpoints returns v1 and, off by default, v1beta1, whose JSON and protobuf are the same.
func trustBundleEndpoints() []kind.Endpoint {
	served := endpoint("spec.signerName")
	beta := served[0]
	beta.Version, beta.Unserved = "v1beta1", true
	beta.Deprecated = "certificates.k8s.io/v1beta1 ClusterTrustBundle is deprecated in v1.37+, unavailable in v1.40+; " +
		"use certificates.k8s.io/v1 ClusterTrustBundle"
	return append(served, beta)
}

func validateTrustBundle(b, old *trustBundle, _ string) (errs field.ErrorList) {
	signer, path := b.Spec.SignerName, field.NewPath("spec")
	nameProblems := bundleNameProblems(signer)
	if old != nil {
		errs = apivalidation.ValidateObjectMeta(&b.ObjectMeta, false, nameProblems, metadataPath)
	} else {
		if b.GenerateName != "" {
			errs = fieldcheck.Invalid(metadataPath.Child("generateName"), b.GenerateName,
				nameProblems(b.GenerateName, true))
		}
		if b.Name != "" {
			errs = append(errs, fieldcheck.Invalid(metadataPath.Child("name"), b.Name, nameProblems(b.Name, false))...)
		}
	}
	if signer != "" {
		errs = append(errs, fieldcheck.SignerName(path.Child("signerName"), signer)...)
	}
	// An anchor that was accepted before stays acceptable when Go's parsers become stricter.
	if old == nil || b.Spec.TrustBundle != old.Spec.TrustBundle {
		errs = append(errs, validateAnchors(path.Child("trustBundle"), b.Spec.TrustBundle)...)
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(signer, old.Spec.SignerName,
			path.Child("signerName"))...)
	}
	return errs
}

// bundleNameProblems returns the function that validates the names of a signer's bundles. They start with the name of
// the signer, in which a colon replaces the slash; bundles without a signer have no colon.
func bundleNameProblems(signer string) apivalidation.ValidateNameFunc {
	return func(name string, prefix bool) []string {
		if signer == "" {
			if strings.Contains(name, ":") {
				return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
			}
			return apivalidation.NameIsDNSSubdomain(name, prefix)
		}
		start := strings.ReplaceAll(signer, "/", ":") + ":"
		rest, ok := strings.CutPrefix(name, start)
		if !ok {
			return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer,
				start)}
		}
		return apivalidation.NameIsDNSSubdomain(rest, prefix)
	}
}

// maxTrustBundle is the maximum length of a list of trust anchors.
const maxTrustBundle = 1 << 20

// validateAnchors validates a list of trust anchors in PEM.
func validateAnchors(path *field.Path, text string) (errs field.ErrorList) {
	if len(text) > maxTrustBundle {
		return field.ErrorList{field.TooLong(path, "", maxTrustBundle)}
	}
	invalid := func(detail string) {
		errs = append(errs, field.Invalid(path, "<value omitted>", detail))
	}
	var anchors []string
	positions := map[string][]int{} // of the blocks with an anchor
	block, rest := pem.Decode([]byte(text))
	for i := 0; block != nil; i++ {
		anchor := string(block.Bytes)
		if problem := anchorProblem(block); problem != "" {
			invalid(fmt.Sprintf("entry %d %s", i, problem))
		} else if positions[anchor] = append(positions[anchor], i); len(positions[anchor]) == 1 {
			anchors = append(anchors, anchor)
		}
		block, rest = pem.Decode(rest)
	}
	switch {
	case len(errs) > 0:
		return errs
	case len(anchors) == 0:
		invalid("at least one trust anchor must be provided")
	}
	for _, a := range anchors {
		if len(positions[a]) > 1 {
			invalid(fmt.Sprintf("duplicate trust anchor (indices %v)", positions[a]))
		}
	}
	return errs
}

// anchorProblem returns the reason why a PEM block is not a trust anchor, or "" if it is one.
func anchorProblem(block *pem.Block) string {
	if block.Type != certificateBlock {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) != 0 {
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	case !certificate.BasicConstraintsValid:
		return "has invalid basic constraints"
	}
	return ""
}
