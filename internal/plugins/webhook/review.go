package webhook

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// review is an AdmissionReview to send, and the object that receives the response.
type review struct {
	uid               types.UID
	request, response runtime.Object
}

// newReview returns a review of a write in the webhook's first AdmissionReview version that Bowline supports.
func newReview(versions []string, s *subject) (*review, error) {
	r := &review{uid: types.UID(uuid.NewString())}
	for _, version := range versions {
		switch version {
		case "v1", "v1beta1":
			request, err := newRequest(r.uid, s)
			if err != nil {
				return nil, err
			}
			r.request, r.response = &admissionv1.AdmissionReview{Request: request}, &admissionv1.AdmissionReview{}
			if version == "v1beta1" {
				r.request, r.response = &admissionv1beta1.AdmissionReview{Request: legacyRequest(request)},
					&admissionv1beta1.AdmissionReview{}
			}
			return r, nil
		}
	}
	return nil, errors.New("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

func newRequest(uid types.UID, s *subject) (*admissionv1.AdmissionRequest, error) {
	now, old, err := s.encode()
	if err != nil {
		return nil, err
	}
	a := s.Write
	requestKind := metav1.GroupVersionKind(s.RequestKind())
	requestResource := metav1.GroupVersionResource(a.Resource)
	request := &admissionv1.AdmissionRequest{
		UID: uid, Operation: admissionv1.Operation(a.Operation),
		Kind:        metav1.GroupVersionKind(s.Kind),
		Resource:    metav1.GroupVersionResource(s.Version.WithResource(a.Resource.Resource)),
		SubResource: a.Subresource,
		RequestKind: &requestKind, RequestResource: &requestResource, RequestSubResource: a.Subresource,
		Name: a.Name, Namespace: matching.NamespaceOf(a),
		UserInfo: authenticationv1.UserInfo{Username: a.User, UID: a.UserUID, Groups: a.Groups},
		Object:   runtime.RawExtension{Raw: now}, OldObject: runtime.RawExtension{Raw: old},
		DryRun: &a.DryRun, Options: runtime.RawExtension{Object: s.Options()},
	}
	for key, values := range a.Extra {
		if request.UserInfo.Extra == nil {
			request.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		request.UserInfo.Extra[key] = values
	}
	return request, nil
}

// legacyRequest converts the request to v1beta1, which has the same fields.
func legacyRequest(r *admissionv1.AdmissionRequest) *admissionv1beta1.AdmissionRequest {
	return &admissionv1beta1.AdmissionRequest{
		UID: r.UID, Kind: r.Kind, Resource: r.Resource, SubResource: r.SubResource,
		RequestKind: r.RequestKind, RequestResource: r.RequestResource, RequestSubResource: r.RequestSubResource,
		Name: r.Name, Namespace: r.Namespace, Operation: admissionv1beta1.Operation(r.Operation), UserInfo: r.UserInfo,
		Object: r.Object, OldObject: r.OldObject, DryRun: r.DryRun, Options: r.Options,
	}
}

// result validates the response and returns it. For v1beta1 it checks neither kind nor UID, because old
// webhooks omit them.
func (r *review) result(mutates bool) (*admissionv1.AdmissionResponse, error) {
	if old, ok := r.response.(*admissionv1beta1.AdmissionReview); ok {
		return legacyResponse(old.Response, mutates)
	}
	answer := r.response.(*admissionv1.AdmissionReview)
	response := answer.Response
	expected := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	switch {
	case response == nil:
		return nil, errors.New("webhook response was absent")
	case response.UID != r.uid:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", r.uid, response.UID)
	case answer.GroupVersionKind() != expected:
		return nil, fmt.Errorf("expected webhook response of %v, got %v", expected, answer.GroupVersionKind())
	case !mutates && len(response.Patch) > 0:
		return nil, errors.New("validating webhook may not return response.patch")
	case !mutates && response.PatchType != nil:
		return nil, errors.New("validating webhook may not return response.patchType")
	case len(response.Patch) > 0 && response.PatchType == nil:
		return nil, errors.New("webhook returned response.patch but not response.patchType")
	case len(response.Patch) == 0 && response.PatchType != nil:
		return nil, errors.New("webhook returned response.patchType but not response.patch")
	case response.PatchType != nil && *response.PatchType == "":
		return nil, fmt.Errorf("webhook returned invalid response.patchType of %q", *response.PatchType)
	}
	return response, nil
}

func legacyResponse(r *admissionv1beta1.AdmissionResponse, mutates bool) (*admissionv1.AdmissionResponse, error) {
	if r == nil {
		return nil, errors.New("webhook response was absent")
	}
	response := &admissionv1.AdmissionResponse{Allowed: r.Allowed, Result: r.Result, Warnings: r.Warnings,
		AuditAnnotations: r.AuditAnnotations}
	if mutates && len(r.Patch) > 0 {
		response.Patch, response.PatchType = r.Patch, new(admissionv1.PatchTypeJSONPatch)
	}
	return response, nil
}
