package certificates

import (
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// signingRequests is the kind of certificate signing requests. It has two subresources for the status, each of which
// writes a part of it.
type signingRequests struct {
	*kind.Typed[signingRequest, *signingRequest]
}

const (
	statusSub   = "status"
	approvalSub = "approval"
)

func signingRequestKind(cache *object.Cache) kind.Kind {
	verbs := []string{"get", "patch", "update"}
	return signingRequests{kind.NewTyped(cache, kind.Info{
		Kind: "CertificateSigningRequest", Plural: "certificatesigningrequests", Singular: "certificatesigningrequest",
		ShortNames: []string{"csr"},
		Endpoints:  endpoint("spec.signerName"),
		SetAuthor:  setAuthor,
		Subresources: []kind.Subresource{
			{Name: approvalSub, Verbs: verbs, Preserves: []string{"status.certificate"}},
			{Name: statusSub, Verbs: verbs, Preserves: []string{"status.conditions"}},
		},
		Fixed: []string{"spec"},
		ValidName: func(name string, prefix bool) []string {
			if prefix {
				return content.IsPathSegmentPrefix(name)
			}
			return content.IsPathSegmentName(name)
		},
	}, kind.Rules[*signingRequest]{
		Validate: fieldcheck.WithFinalizers(validateSigningRequest),
		Fields: func(csr *signingRequest) map[string]string {
			return map[string]string{"spec.signerName": csr.Spec.SignerName}
		},
		Columns: signingRequestColumns(),
		Row:     signingRequestRow,
	})}
}

// signingRequestColumns has the descriptions of v1beta1, as in Kubernetes, which describes the requestor with the text
// for the request.
func signingRequestColumns() []metav1.TableColumnDefinition {
	docs := certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		kind.AgeColumn,
		{Name: "SignerName", Type: "string", Description: docs["signerName"]},
		{Name: "Requestor", Type: "string", Description: docs["request"]},
		{Name: "RequestedDuration", Type: "string", Description: docs["expirationSeconds"]},
		{Name: "Condition", Type: "string",
			Description: certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"]},
	}
}

func signingRequestRow(csr *signingRequest, now time.Time) []any {
	signer, requested := nothing, nothing
	if csr.Spec.SignerName != "" {
		signer = csr.Spec.SignerName
	}
	if s := csr.Spec.ExpirationSeconds; s != nil {
		requested = duration.HumanDuration(time.Duration(*s) * time.Second)
	}
	return []any{csr.Name, kind.Age(csr.CreationTimestamp.Time, now), signer, csr.Spec.Username, requested,
		progress(&csr.Status)}
}

// progress summarizes the status of a signing request in a table cell.
func progress(s *certificatesv1.CertificateSigningRequestStatus) string {
	steps := []string{"Pending"}
	switch {
	case countConditions(s, certificatesv1.CertificateDenied) > 0:
		steps = []string{"Denied"}
	case countConditions(s, certificatesv1.CertificateApproved) > 0:
		steps = []string{"Approved"}
	}
	if countConditions(s, certificatesv1.CertificateFailed) > 0 {
		steps = append(steps, "Failed")
	}
	if len(s.Certificate) > 0 {
		steps = append(steps, "Issued")
	}
	return strings.Join(steps, ",")
}

// setAuthor sets the fields of a new signing request that identify its author.
func setAuthor(obj kind.Object, author kind.Author) {
	spec := &obj.(*signingRequest).Spec
	spec.Username, spec.UID, spec.Groups, spec.Extra = author.Name, author.UID, slices.Clone(author.Groups), nil
	for key, values := range author.Extra {
		if spec.Extra == nil {
			spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		spec.Extra[key] = slices.Clone(values)
	}
}

// Prepare implements kind.Kind. The spec of a request never changes. The subresource status can change the certificate,
// and the conditions other than Approved and Denied; the subresource approval can change all conditions.
func (k signingRequests) Prepare(obj, old kind.Object, sub string) {
	csr := obj.(*signingRequest)
	if old == nil {
		setAuthor(csr, kind.Author{}) // the client cannot choose it
		csr.Status = certificatesv1.CertificateSigningRequestStatus{}
		return
	}
	was := old.(*signingRequest)
	csr.Spec = *was.Spec.DeepCopy()
	switch sub {
	case statusSub:
		keepConditions(&csr.Status, &was.Status, certificatesv1.CertificateApproved)
		keepConditions(&csr.Status, &was.Status, certificatesv1.CertificateDenied)
		stampConditions(&csr.Status, &was.Status, metav1.Now())
	case approvalSub:
		stampConditions(&csr.Status, &was.Status, metav1.Now())
		csr.Status.Certificate = was.Status.DeepCopy().Certificate
	default:
		csr.Status = *was.Status.DeepCopy()
	}
}

// keepConditions restores the conditions of a type. If the write adds or removes some, it leaves them for validation to
// reject.
func keepConditions(s, old *certificatesv1.CertificateSigningRequestStatus, t certificatesv1.RequestConditionType) {
	if countConditions(s, t) != countConditions(old, t) {
		return
	}
	next := 0
	for i := range s.Conditions {
		if s.Conditions[i].Type != t {
			continue
		}
		for old.Conditions[next].Type != t {
			next++
		}
		s.Conditions[i] = old.Conditions[next]
		next++
	}
}

// stampConditions sets the times that the writer omitted. A condition that has not changed its status keeps the time of
// its last transition.
func stampConditions(s, old *certificatesv1.CertificateSigningRequestStatus, now metav1.Time) {
	type state struct {
		certificatesv1.RequestConditionType
		corev1.ConditionStatus
	}
	since := make(map[state]metav1.Time, len(old.Conditions))
	for _, c := range old.Conditions {
		at := state{c.Type, c.Status}
		if t := since[at]; t.IsZero() {
			since[at] = c.LastTransitionTime
		}
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		if t := since[state{c.Type, c.Status}]; !t.IsZero() {
			c.LastTransitionTime = t
		}
	}
}

func countConditions(s *certificatesv1.CertificateSigningRequestStatus, t certificatesv1.RequestConditionType) (n int) {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			n++
		}
	}
	return n
}
