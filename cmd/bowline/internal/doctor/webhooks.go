package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
)

// hook is an admission webhook.
type hook struct {
	name   string // names the webhook and its configuration
	config admissionv1.WebhookClientConfig
	rules  []admissionv1.RuleWithOperations
	policy *admissionv1.FailurePolicyType
}

// webhooks finds admission webhooks that do not answer.
func (d *doctor) webhooks(ctx context.Context) error {
	var all []hook
	for c, err := range client.For[*admissionv1.MutatingWebhookConfiguration](d.client).All(ctx, "",
		metav1.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("listing webhooks: %w", err)
		}
		for _, w := range c.Webhooks {
			all = append(all, hook{"mutating webhook " + w.Name + " of " + c.Name, w.ClientConfig, w.Rules,
				w.FailurePolicy})
		}
	}
	for c, err := range client.For[*admissionv1.ValidatingWebhookConfiguration](d.client).All(ctx, "",
		metav1.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("listing webhooks: %w", err)
		}
		for _, w := range c.Webhooks {
			all = append(all, hook{"validating webhook " + w.Name + " of " + c.Name, w.ClientConfig, w.Rules,
				w.FailurePolicy})
		}
	}
	return d.checkWebhooks(ctx, all)
}

// maxProbes limits how many webhooks are probed at the same time, so that several hanging webhooks time out
// together.
const maxProbes = 16

// checkWebhooks probes the webhooks concurrently and adds a finding for each that does not answer.
func (d *doctor) checkWebhooks(ctx context.Context, all []hook) error {
	problems := make([]string, len(all))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(maxProbes)
	for i, w := range all {
		calls.Go(func() (err error) {
			problems[i], err = d.checkWebhook(ctx, w.config)
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	for i, w := range all {
		if problems[i] != "" {
			d.findings = append(d.findings, finding{Blocker: w.name, Problem: "does not respond: " + problems[i],
				Waiting: w.waiting(),
				Help: "start it, or correct its clientConfig; or delete its configuration if it is no longer " +
					"needed"})
		}
	}
	return nil
}

// waiting describes the writes that an unreachable webhook rejects or delays, one line per rule.
func (w hook) waiting() (lines []string) {
	outcome := "is rejected"
	if w.policy != nil && *w.policy == admissionv1.Ignore {
		outcome = "continues without it after its timeout"
	}
	for _, r := range w.rules {
		var operations []string
		for _, o := range r.Operations {
			operations = append(operations, string(o))
		}
		lines = append(lines, fmt.Sprintf("every %s of %s of the groups %q %s", strings.Join(operations, ", "),
			strings.Join(r.Resources, ", "), strings.Join(r.APIGroups, ", "), outcome))
	}
	return lines
}

// checkWebhook returns why a webhook cannot answer, or an empty string if it can. It returns an error if the
// server could not be asked about the webhook's service.
func (d *doctor) checkWebhook(ctx context.Context, config admissionv1.WebhookClientConfig) (problem string, err error) {
	if config.Service != nil {
		return d.checkService(ctx, config.Service)
	}
	if config.URL == nil {
		return "its clientConfig has neither url nor service", nil
	}
	return probe(ctx, *config.URL, config.CABundle), nil
}

// probeTimeout bounds the wait for a webhook's response.
const probeTimeout = 5 * time.Second

// probe sends a GET request to a webhook's URL and returns why it failed, or an empty string. The request is
// not an AdmissionReview, so any HTTP response proves that the webhook is up. An empty bundle selects the
// system's root certificates.
func probe(ctx context.Context, url string, bundle []byte) string {
	roots := x509.NewCertPool()
	if len(bundle) == 0 {
		roots = nil // use the system's roots
	} else if !roots.AppendCertsFromPEM(bundle) {
		return "its caBundle contains no certificate"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true}
	answer, err := transport.RoundTrip(q)
	if err != nil {
		return err.Error()
	}
	answer.Body.Close()
	return ""
}

// checkService returns what is wrong with the service of a webhook, or an empty string if it has a ready
// endpoint.
func (d *doctor) checkService(ctx context.Context, ref *admissionv1.ServiceReference) (problem string, err error) {
	name := ref.Namespace + "/" + ref.Name
	service, err := client.For[*corev1.Service](d.client).Get(ctx, ref.Namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err):
		return "missing service " + name, nil
	case err != nil:
		return "", err
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return "", nil // an external name has no endpoints to check
	}
	page, err := client.For[*discoveryv1.EndpointSlice](d.client).List(ctx, ref.Namespace,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + ref.Name})
	if err != nil {
		return "", err
	}
	for _, slice := range page.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return "", nil
			}
		}
	}
	return "no ready endpoint in service " + name, nil
}
