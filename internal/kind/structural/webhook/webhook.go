// Package webhook converts custom resources by calling a webhook, for the conversion strategy Webhook of a
// CustomResourceDefinition. It sends a ConversionReview, in v1 or v1beta1, and validates the response as
// Kubernetes does. Package structural defines the interface of converters; the server creates one for each
// definition with that strategy.
//
// A call times out after 30 seconds, the size of a response is limited, and objects whose name, namespace,
// uid or kind the webhook changed are rejected. Conversion does not change the stored objects.
package webhook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind/caller"
)

const (
	// callTimeout is the timeout of a call, as in Kubernetes.
	callTimeout = 30 * time.Second
	// maxObject is the maximum size of a response for each object of the review, in bytes. The body of a request has at
	// most 3 MiB. maxResponse is that of a response for many objects.
	maxObject   = 4 << 20
	maxResponse = 64 << 20
)

// Converter calls the webhook of one definition. It is safe for concurrent use and connects on first use.
type Converter struct {
	ctx      context.Context
	versions []string
	caller   *caller.Caller
}

// New returns the converter of a definition with the conversion strategy Webhook. Its calls are canceled when
// ctx ends.
func New(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, resolve caller.Resolver) *Converter {
	hook := crd.Spec.Conversion.Webhook.DeepCopy()
	config := caller.Config{URL: hook.ClientConfig.URL, CABundle: hook.ClientConfig.CABundle, MaxResponse: maxResponse}
	if s := hook.ClientConfig.Service; s != nil {
		config.Service = &caller.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Path != nil {
			config.Service.Path = *s.Path
		}
		if s.Port != nil {
			config.Service.Port = *s.Port
		}
	}
	return &Converter{ctx: ctx, versions: hook.ConversionReviewVersions,
		caller: caller.New(ctx, config, resolve, reviews)}
}

// reviews returns the codec for ConversionReviews.
func reviews() (runtime.Codec, error) {
	versions := []schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion}
	return caller.Codec(versions, apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme)
}

// Close implements structural.Converter: it closes idle connections.
func (c *Converter) Close() { c.caller.Close() }

// Convert implements structural.Converter. Its errors are 500 Statuses with Kubernetes' messages.
func (c *Converter) Convert(objects []*unstructured.Unstructured,
	apiVersion string) ([]*unstructured.Unstructured, error) {
	r, err := newReview(c.versions, objects, apiVersion)
	if err != nil {
		return nil, statusError(err)
	}
	kind := objects[0].GroupVersionKind()
	if err := c.call(r, len(objects)); err != nil {
		return nil, statusError(fmt.Errorf("conversion webhook for %v failed: %w", kind, err))
	}
	converted, err := r.converted()
	if err != nil {
		return nil, statusError(fmt.Errorf("conversion webhook for %v failed: %w", kind, err))
	}
	if len(converted) != len(objects) {
		return nil, statusError(fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", kind,
			len(converted), len(objects)))
	}
	out := make([]*unstructured.Unstructured, len(objects))
	for i, raw := range converted {
		if out[i], err = validateObject(objects[i], raw, apiVersion, errorNamesFor(i, len(objects))); err != nil {
			return nil, statusError(fmt.Errorf("conversion webhook for %v returned %w", kind, err))
		}
	}
	return out, nil
}

// call sends the review of a number of objects, and decodes the response.
func (c *Converter) call(r *review, objects int) error {
	client, err := c.caller.Client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	ctx = caller.WithMaxResponse(ctx, min(maxResponse, int64(objects)*maxObject))
	return caller.Into(client.Post().Body(r.request).Do(ctx), r.response, objects)
}

// statusError returns an error that is sent to the client as a 500 with only the message.
func statusError(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}
