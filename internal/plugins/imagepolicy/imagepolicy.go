// Package imagepolicy has the admission plugin that asks a backend which images pods may use (Kubernetes'
// ImagePolicyWebhook). Package plugins reads its configuration.
package imagepolicy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/api/imagepolicy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/cache"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/caller"
	"github.com/bowline-dev/bowline/internal/kubeconfig"
)

const (
	// timeout is the time after which a call fails, as in Kubernetes. The deadline of the write may be earlier.
	timeout = 30 * time.Second
	// tries is the number of calls for a review, as in Kubernetes.
	tries = 5
	// maxResponse is the maximum size of a response in bytes, and maxReason that of the reason of a denial.
	maxResponse, maxReason = 1 << 20, 1 << 10
	// maxAnswers is the number of cached answers, as in Kubernetes.
	maxAnswers = 1024
)

// Plugin rejects pods whose images the backend denies. A nil Plugin does nothing.
type Plugin struct {
	times        durations
	defaultAllow bool
	backend      *rest.RESTClient
	// answers has the answer of the backend by the digest of the question.
	answers *cache.LRUExpireCache
}

// answer is the answer of the backend. Its audit annotations have no effect, because there is no audit log.
type answer struct {
	allowed bool
	reason  string
}

var pods = schema.GroupResource{Resource: "pods"}

// New returns a plugin. It reads the kubeconfig of the backend, but sends nothing yet.
func New(c Config) (*Plugin, error) {
	times, err := c.durations()
	if err != nil {
		return nil, err
	}
	path := field.NewPath("imagePolicy", "kubeConfigFile")
	if c.ImagePolicy.KubeConfigFile == "" {
		return nil, field.Required(path, "")
	}
	config, err := kubeconfig.Load(kubeconfig.Flags{Kubeconfig: c.ImagePolicy.KubeConfigFile})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &Plugin{times: times, defaultAllow: c.ImagePolicy.DefaultAllow, answers: cache.NewLRUExpireCache(maxAnswers)}
	p.backend, err = connect(config)
	return p, err
}

// connect returns the client of a backend.
func connect(config *rest.Config) (*rest.RESTClient, error) {
	reviews, err := caller.Codec([]schema.GroupVersion{v1alpha1.SchemeGroupVersion}, v1alpha1.AddToScheme)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.QPS = timeout, -1
	config.ContentType = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: reviews})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	return rest.UnversionedRESTClientFor(config)
}

// Name implements admission.Plugin.
func (*Plugin) Name() string { return "ImagePolicyWebhook" }

// Handles implements admission.Plugin.
func (p *Plugin) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return p != nil && resource == pods && (op == admission.Create || op == admission.Update) &&
		(sub == "" || sub == "ephemeralcontainers")
}

// Admit implements admission.Plugin.
func (*Plugin) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin. A pod that is allowed because the backend fails gets a warning.
func (p *Plugin) Validate(ctx context.Context, a *admission.Attributes, _ admission.Reader) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest("Resource was marked with kind Pod but was unable to be converted")
	}
	answer, err := p.answer(ctx, &v1alpha1.ImageReview{Spec: v1alpha1.ImageReviewSpec{
		Containers: images(pod, a.Subresource), Annotations: annotations(pod), Namespace: a.Namespace,
	}})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && p.defaultAllow:
		if a.Warn != nil {
			a.Warn("the images were not reviewed: the backend of the image policy failed")
		}
		return nil
	case apierrors.IsForbidden(err):
		return err
	case err != nil:
		return a.Forbidden("%w", err)
	case answer.allowed:
		return nil
	case answer.reason != "":
		return a.Forbidden("image policy webhook backend denied one or more images: %s", answer.reason)
	}
	return a.Forbidden("one or more images rejected by webhook backend")
}

// images returns the images of a pod's containers. A write to the ephemeral containers changes only these.
func images(pod *corev1.Pod, sub string) (specs []v1alpha1.ImageReviewContainerSpec) {
	add := func(image string) { specs = append(specs, v1alpha1.ImageReviewContainerSpec{Image: image}) }
	if sub != "" {
		for i := range pod.Spec.EphemeralContainers {
			add(pod.Spec.EphemeralContainers[i].Image)
		}
		return specs
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].Image)
	}
	return specs
}

// annotations returns the annotations of a pod that are meant for the backend.
func annotations(pod *corev1.Pod) map[string]string {
	found := map[string]string{}
	for key, value := range pod.Annotations {
		if strings.Contains(key, ".image-policy.k8s.io/") {
			found[key] = value
		}
	}
	return found
}

// answer returns the answer to a review: a cached one, or that of the backend.
func (p *Plugin) answer(ctx context.Context, review *v1alpha1.ImageReview) (answer, error) {
	question, err := json.Marshal(review.Spec)
	if err != nil {
		return answer{}, err
	}
	key := sha256.Sum256(question)
	if cached, ok := p.answers.Get(key); ok {
		return cached.(answer), nil
	}
	if err := p.ask(ctx, review); err != nil {
		return answer{}, err
	}
	given := answer{allowed: review.Status.Allowed, reason: review.Status.Reason}
	if len(given.reason) > maxReason {
		given.reason = strings.ToValidUTF8(given.reason[:maxReason], "") + "..."
	}
	lifetime := p.times.deny
	if given.allowed {
		lifetime = p.times.allow
	}
	p.answers.Add(key, given, lifetime)
	return given, nil
}

// ask sends a review to the backend, which sets its status. It retries after errors that may be temporary.
func (p *Plugin) ask(ctx context.Context, review *v1alpha1.ImageReview) error {
	var failed error
	err := wait.ExponentialBackoffWithContext(ctx,
		wait.Backoff{Duration: p.times.backoff, Factor: 1.5, Jitter: 0.2, Steps: tries},
		func(ctx context.Context) (bool, error) {
			result := p.backend.Post().Body(review).Do(ctx)
			failed = result.Error()
			if failed != nil && temporary(failed) {
				return false, nil
			}
			if failed == nil {
				failed = read(result, review)
			}
			return true, failed
		})
	if failed != nil {
		return failed
	}
	return err
}

// read decodes a response.
func read(result rest.Result, review *v1alpha1.ImageReview) error {
	var code int
	if result.StatusCode(&code); code < http.StatusOK || code >= http.StatusMultipleChoices {
		return fmt.Errorf("Error contacting webhook: %d", code) //lint:ignore ST1005 the text is Kubernetes'
	}
	return caller.Into(result, review, 1)
}

// temporary reports whether a call that failed may be repeated.
func temporary(err error) bool {
	_, asked := apierrors.SuggestsClientDelay(err)
	return asked || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

// bounded limits the size of responses, which client-go reads at once.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{&boundedReader{response.Body, maxResponse}, response.Body}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport, to close its connections.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }

// boundedReader returns an error beyond its limit.
type boundedReader struct {
	from io.Reader
	left int
}

var errTooLarge = errors.New("the response of the image policy backend is larger than 1 MiB")

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
