// Package webhook converts custom resources by asking somebody's HTTPS server, as the conversion strategy Webhook of a
// CustomResourceDefinition says: it sends a ConversionReview, in v1 or v1beta1, and believes of the answer what Kubernetes
// believes. Package structural defines what a converter is; the server makes one for each definition that asks for it.
//
// A webhook may hang, lie or fail: a call ends after 30 seconds, an answer is read up to a limit, and an object whose name,
// namespace, uid or kind the webhook changed is refused. What is stored does not change by a conversion.
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
	// patience is how long a webhook may take, as in Kubernetes.
	patience = 30 * time.Second
	// largestAnswer is how much of an answer is read, in bytes: far more than the objects of one review, which come in
	// requests of at most 3 MiB each.
	largestAnswer = 64 << 20
)

// Converter asks one definition's webhook. It is safe for concurrent use and connects when it is first asked.
type Converter struct {
	ctx      context.Context
	versions []string
	caller   *caller.Caller
}

// New makes the converter of a definition whose conversion strategy is Webhook. Its calls end with ctx.
func New(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, resolve caller.Resolver) *Converter {
	hook := crd.Spec.Conversion.Webhook.DeepCopy()
	config := caller.Config{URL: hook.ClientConfig.URL, CABundle: hook.ClientConfig.CABundle, Largest: largestAnswer}
	if s := hook.ClientConfig.Service; s != nil {
		config.Service = &caller.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Path != nil {
			config.Service.Path = *s.Path
		}
		if s.Port != nil {
			config.Service.Port = *s.Port
		}
	}
	return &Converter{ctx: ctx, versions: hook.ConversionReviewVersions, caller: caller.New(ctx, config, resolve, reviews)}
}

// reviews reads and writes ConversionReviews.
func reviews() (runtime.Codec, error) {
	versions := []schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion}
	return caller.Codec(versions, apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme)
}

// Close implements structural.Converter: it lets go of idle connections.
func (c *Converter) Close() { c.caller.Close() }

// Convert implements structural.Converter. Its errors are Kubernetes', as a Status: a 500.
func (c *Converter) Convert(objects []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error) {
	r, err := newReview(c.versions, objects, apiVersion)
	if err != nil {
		return nil, failure(err)
	}
	kind := objects[0].GroupVersionKind()
	if err := c.call(r); err != nil {
		return nil, failure(fmt.Errorf("conversion webhook for %v failed: %w", kind, err))
	}
	converted, err := r.converted()
	if err != nil {
		return nil, failure(fmt.Errorf("conversion webhook for %v failed: %w", kind, err))
	}
	if len(converted) != len(objects) {
		return nil, failure(fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", kind, len(converted), len(objects)))
	}
	out := make([]*unstructured.Unstructured, len(objects))
	for i, raw := range converted {
		if out[i], err = checked(objects[i], raw, apiVersion, placeOf(i, len(objects))); err != nil {
			return nil, failure(fmt.Errorf("conversion webhook for %v returned %w", kind, err))
		}
	}
	return out, nil
}

// call sends the review and reads the answer into it.
func (c *Converter) call(r *review) error {
	client, err := c.caller.Client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	return client.Post().Body(r.request).Do(ctx).Into(r.response)
}

// failure is an error as the API answers it: a 500 with the text alone.
func failure(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}
