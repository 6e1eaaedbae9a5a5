package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// projection validates the sources of a projected volume, whose files must not have equal paths.
type projection struct {
	path  *field.Path
	paths map[string]bool
	errs  field.ErrorList
}

func validateProjected(s *podScope, p *corev1.ProjectedVolumeSource, path *field.Path) field.ErrorList {
	v := &projection{path: path, paths: map[string]bool{},
		errs: fieldcheck.FileMode(path.Child("defaultMode"), p.DefaultMode)}
	for i := range p.Sources {
		v.source(s, &p.Sources[i], path.Child("sources").Index(i))
	}
	return v.errs
}

func (v *projection) add(errs ...*field.Error) { v.errs = append(v.errs, errs...) }

func (v *projection) source(s *podScope, source *corev1.VolumeProjection, path *field.Path) {
	count := 0
	if p := source.Secret; p != nil {
		count++
		v.keys(p.Name, p.Items, path.Child("secret"))
	}
	if p := source.ConfigMap; p != nil {
		count++
		v.keys(p.Name, p.Items, path.Child("configMap"))
	}
	if p := source.DownwardAPI; p != nil {
		count++
		v.add(validateDownwardFiles(p.Items, path.Child("downwardAPI"))...)
		for i := range p.Items {
			v.addPath(p.Items[i].Path, p.Items[i].Path)
		}
	}
	if p := source.ServiceAccountToken; p != nil {
		count++
		v.token(s, p, path.Child("serviceAccountToken"))
	}
	if p := source.ClusterTrustBundle; p != nil {
		count++
		v.trustBundle(p, path.Child("clusterTrustBundle"))
	}
	if p := source.PodCertificate; p != nil {
		count++
		v.certificate(p, path.Child("podCertificate"))
	}
	if count > 1 {
		v.add(field.Forbidden(path, "may not specify more than 1 volume type per source"))
	}
}

// addPath records a path in the volume, and rejects duplicates; owner is the value in the error.
func (v *projection) addPath(path, owner string) {
	if path == "" {
		return
	}
	if v.paths[path] {
		v.add(field.Invalid(v.path, owner, "conflicting duplicate paths"))
	}
	v.paths[path] = true
}

func (v *projection) keys(name string, items []corev1.KeyToPath, path *field.Path) {
	v.add(fieldcheck.Required(path.Child("name"), name, "")...)
	for i := range items {
		v.add(validateKeyToPath(&items[i], path.Child("items").Index(i))...)
		v.addPath(items[i].Path, name)
	}
}

// token reports errors of the path below the volume instead of the source, as Kubernetes does. It accepts a
// path that the old pod already has.
func (v *projection) token(s *podScope, t *corev1.ServiceAccountTokenProjection, path *field.Path) {
	if seconds := t.ExpirationSeconds; seconds != nil && *seconds < 10*60 {
		v.add(field.Invalid(path.Child("expirationSeconds"), *seconds,
			"may not specify a duration less than 10 minutes"))
	} else if seconds != nil && *seconds > 1<<32 {
		v.add(field.Invalid(path.Child("expirationSeconds"), *seconds,
			"may not specify a duration larger than 2^32 seconds"))
	}
	switch {
	case t.Path == "":
		v.add(field.Required(v.path.Child("path"), ""))
	case s.old == nil || !hasTokenPath(s.old, t.Path):
		v.add(fieldcheck.FilePath(v.path.Child("path"), t.Path)...)
	}
}

func hasTokenPath(spec *corev1.PodSpec, path string) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool {
			return p.ServiceAccountToken != nil && p.ServiceAccountToken.Path == path
		})
	})
}

func (v *projection) trustBundle(b *corev1.ClusterTrustBundleProjection, path *field.Path) {
	switch {
	case b.Name != nil && b.SignerName != nil:
		v.add(field.Invalid(path, Layout(b), "only one of name and signerName may be used"))
	case b.Name != nil:
		v.trustBundleName(*b.Name, path.Child("name"))
		if b.LabelSelector != nil {
			v.add(field.Invalid(path.Child("labelSelector"), b.LabelSelector,
				"labelSelector must be unset if name is specified"))
		}
	case b.SignerName != nil:
		v.add(fieldcheck.Required(path.Child("signerName"), *b.SignerName, "must be a valid signer name")...)
		v.add(fieldcheck.SignerName(path.Child("signerName"), *b.SignerName)...)
		v.add(metavalidation.ValidateLabelSelector(b.LabelSelector, metavalidation.LabelSelectorValidationOptions{},
			path.Child("labelSelector"))...)
	default:
		v.add(field.Required(path, "either name or signerName must be specified"))
	}
	v.add(fieldcheck.Required(path.Child("path"), b.Path, "")...)
	v.add(fieldcheck.FilePath(path.Child("path"), b.Path)...)
	v.addPath(b.Path, b.Path)
}

// trustBundleName validates the name of a bundle; that of a signer has the form domain:path:name.
func (v *projection) trustBundleName(name string, path *field.Path) {
	v.add(fieldcheck.Required(path, name, "must be a valid object name")...)
	suffix := name
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		suffix = name[i+1:]
	}
	for _, m := range validation.IsDNS1123Subdomain(suffix) {
		v.add(field.Invalid(path, name, fmt.Sprintf("not a valid clustertrustbundlename: %v", m)))
	}
}

// The limits of a certificate's lifetime, in seconds: an hour, 91 days, and a day for the signers of Kubernetes.
const (
	shortestCertificate          = 60 * 60
	longestCertificate           = 91 * 24 * 60 * 60
	longestKubernetesCertificate = 24 * 60 * 60
)

// certificate validates a PodCertificateProjection (API reference).
func (v *projection) certificate(c *corev1.PodCertificateProjection, path *field.Path) {
	v.add(fieldcheck.SignerName(path.Child("signerName"), c.SignerName)...)
	v.add(fieldcheck.UserAnnotations(path.Child("userAnnotations"), c.UserAnnotations)...)
	v.add(fieldcheck.OneOf(path.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521",
		"ED25519")...)
	if s := c.MaxExpirationSeconds; s != nil {
		longest := int32(longestCertificate)
		if fieldcheck.IsKubernetesSigner(c.SignerName) {
			longest = longestKubernetesCertificate
		}
		if *s < shortestCertificate {
			v.add(field.Invalid(path.Child("maxExpirationSeconds"), *s,
				fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", shortestCertificate)))
		} else if *s > longest {
			v.add(field.Invalid(path.Child("maxExpirationSeconds"), *s,
				fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", longest)))
		}
	}
	if c.CredentialBundlePath == "" && c.KeyPath == "" && c.CertificateChainPath == "" {
		v.add(field.Required(path,
			"specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
	}
	v.file(c.CredentialBundlePath, path.Child("credentialBundlePath"))
	v.file(c.KeyPath, path.Child("keyPath"))
	v.file(c.CertificateChainPath, path.Child("certificateChainPath"))
}

func (v *projection) file(name string, path *field.Path) {
	v.add(fieldcheck.FilePath(path, name)...)
	v.addPath(name, name)
}

// validateTokenVolumes applies to pods: a token volume requires a service account.
func validateTokenVolumes(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	if spec.ServiceAccountName != "" {
		return nil
	}
	for i := range spec.Volumes {
		if spec.Volumes[i].Projected == nil {
			continue
		}
		for n, source := range spec.Volumes[i].Projected.Sources {
			if source.ServiceAccountToken != nil {
				errs = append(errs,
					field.Forbidden(path.Index(i).Child("projected", "sources").Index(n).Child("serviceAccountToken"),
						"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}
