package webhook

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// review is a ConversionReview to send, and the object that receives the response.
type review struct {
	uid               types.UID
	request, response runtime.Object
}

// newReview returns a review that requests a version of objects, in the webhook's first ConversionReview
// version that Bowline supports.
func newReview(versions []string, objects []*unstructured.Unstructured, apiVersion string) (*review, error) {
	raw := make([]runtime.RawExtension, len(objects))
	for i, u := range objects {
		raw[i].Object = u
	}
	r := &review{uid: types.UID(uuid.NewString())}
	for _, version := range versions {
		switch version {
		case "v1":
			r.request = &apiextensionsv1.ConversionReview{
				Request:  &apiextensionsv1.ConversionRequest{UID: r.uid, DesiredAPIVersion: apiVersion, Objects: raw},
				Response: &apiextensionsv1.ConversionResponse{},
			}
			r.response = &apiextensionsv1.ConversionReview{}
			return r, nil
		case "v1beta1":
			r.request = &apiextensionsv1beta1.ConversionReview{
				Request: &apiextensionsv1beta1.ConversionRequest{UID: r.uid, DesiredAPIVersion: apiVersion,
					Objects: raw},
				Response: &apiextensionsv1beta1.ConversionResponse{},
			}
			r.response = &apiextensionsv1beta1.ConversionReview{}
			return r, nil
		}
	}
	return nil, errors.New("no supported conversion review versions")
}

// converted returns the objects of the response. For v1beta1 it checks neither kind nor UID, because old
// webhooks omit them.
func (r *review) converted() ([]runtime.RawExtension, error) {
	if old, ok := r.response.(*apiextensionsv1beta1.ConversionReview); ok {
		if old.Response == nil {
			return nil, errors.New("no response provided")
		}
		return old.Response.ConvertedObjects, resultError(old.Response.Result)
	}
	answer := r.response.(*apiextensionsv1.ConversionReview)
	expected := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview")
	switch {
	case answer.GroupVersionKind() != expected:
		return nil, fmt.Errorf("expected webhook response of %v, got %v", expected, answer.GroupVersionKind())
	case answer.Response == nil:
		return nil, errors.New("no response provided")
	case answer.Response.UID != r.uid:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", r.uid, answer.Response.UID)
	}
	return answer.Response.ConvertedObjects, resultError(answer.Response.Result)
}

// resultError returns the error that a webhook reports, or nil.
func resultError(result metav1.Status) error {
	switch {
	case result.Status == metav1.StatusSuccess:
		return nil
	case result.Message != "":
		return errors.New(result.Message)
	}
	return fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
}
