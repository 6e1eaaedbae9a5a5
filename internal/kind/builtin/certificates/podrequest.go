package certificates

import (
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func podRequestKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "PodCertificateRequest", Plural: "podcertificaterequests", Singular: "podcertificaterequest",
		Namespaced:        true,
		Endpoints:         endpoint("spec.signerName", "spec.podName", "spec.nodeName"),
		ConditionalUpdate: true,
		Subresources: []kind.Subresource{
			{Name: statusSub, Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata"}},
		},
	}, kind.Rules[*podRequest]{
		Default:  defaultPodRequest,
		Prepare:  preparePodRequest,
		Validate: fieldcheck.WithFinalizers(validatePodRequest),
		Fields: func(r *podRequest) map[string]string {
			return map[string]string{"spec.signerName": r.Spec.SignerName, "spec.podName": r.Spec.PodName,
				"spec.nodeName": string(r.Spec.NodeName)}
		},
		Columns: podRequestColumns(),
		Row: func(r *podRequest, _ time.Time) []any {
			spec := &r.Spec
			return []any{r.Name, spec.PodName, spec.ServiceAccountName, string(spec.NodeName), spec.SignerName,
				podRequestState(r), labels.FormatLabels(spec.UnverifiedUserAnnotations)}
		},
	})
}

// defaultExpiration is the default of spec.maxExpirationSeconds: a day.
const defaultExpiration = int32(24 * 60 * 60)

func defaultPodRequest(r *podRequest) {
	if r.Spec.MaxExpirationSeconds == nil {
		r.Spec.MaxExpirationSeconds = new(defaultExpiration)
	}
}

// preparePodRequest restores the metadata in a write of the status.
func preparePodRequest(r, old *podRequest, sub string) {
	if sub == statusSub {
		metav1.ResetObjectMetaForStatus(r, old.ObjectMeta.DeepCopy())
	}
}

func podRequestColumns() []metav1.TableColumnDefinition {
	columns := []metav1.TableColumnDefinition{kind.NameColumn}
	docs := certificatesv1.PodCertificateRequestSpec{}.SwaggerDoc()
	for _, name := range []string{"PodName", "ServiceAccountName", "NodeName", "SignerName", "State",
		"UnverifiedUserAnnotations"} {
		description := docs[strings.ToLower(name[:1])+name[1:]]
		if name == "State" {
			description = "Is the request Pending, Issued, Denied, or Failed?"
		}
		columns = append(columns, metav1.TableColumnDefinition{Name: name, Type: "string", Description: description})
	}
	return columns
}

// podRequestState returns the type of the last condition that ends a request, or Pending.
func podRequestState(r *podRequest) string {
	state := "Pending"
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1.PodCertificateRequestConditionTypeIssued,
			certificatesv1.PodCertificateRequestConditionTypeDenied,
			certificatesv1.PodCertificateRequestConditionTypeFailed:
			state = c.Type
		}
	}
	return state
}
