package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

// childUnasked is the argument of a process that has webhooks which it does not ask.
const childUnasked = "child-unasked"

func init() { children[childUnasked] = measureUnasked }

// unaskedWebhooks measures what webhooks cost writes that do not concern them.
func unaskedWebhooks() measurement {
	return measurement{
		figures: []figure{
			{"two webhooks configured that are not asked: added to a create", microseconds, 3},
			{"the same, allocations", allocations, 2},
		},
		starts: true,
		run:    inChild(childUnasked),
	}
}

// unaskedTurns are how often the plane with webhooks and the one without are measured, in turns of so many creates.
const unaskedTurns, unaskedCreates = 1200, 15

// measureUnasked sends dry runs to two planes in its process, and prints by how many microseconds and allocations those of the
// one with webhooks cost more, at most.
func measureUnasked(ctx context.Context, _ []string) error { return besides(ctx, configurePods) }

// besides does so with anything that a plane may be configured with.
func besides(ctx context.Context, configure func(context.Context, *rest.Config) error) error {
	without, end, err := newUnasked(ctx, func(context.Context, *rest.Config) error { return nil })
	if err != nil {
		return err
	}
	defer end()
	with, end, err := newUnasked(ctx, configure)
	if err != nil {
		return err
	}
	defer end()
	var times, counts []float64
	for turn := range 1 + unaskedTurns {
		first, second := without, with
		if turn%2 == 1 {
			first, second = with, without
		}
		took, allocated, err := first.creates(ctx)
		if err != nil {
			return err
		}
		tookSecond, allocatedSecond, err := second.creates(ctx)
		if err != nil {
			return err
		}
		if turn == 0 {
			continue // to warm up
		}
		sign := float64(1 - 2*(turn%2))
		times = append(times, sign*(tookSecond-took))
		counts = append(counts, sign*(allocatedSecond-allocated))
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{atMost(times), atMost(counts)})
}

// atMost is what the median of differences is at most, with 97.5 % confidence (by its order statistics): a difference far below
// what two turns differ by anyway would otherwise be told as nothing, or as a gain.
func atMost(differences []float64) float64 {
	slices.Sort(differences)
	n := float64(len(differences))
	upper := int(math.Ceil(n/2 + 1.96*math.Sqrt(n)/2))
	return max(0, differences[min(upper, len(differences)-1)])
}

// unasked is a plane to which creates of a ConfigMap are sent that are dry runs: nothing is stored, and none differs from the
// next.
type unasked struct {
	client *http.Client
	url    string
}

// newUnasked starts a plane and configures it.
func newUnasked(ctx context.Context, configure func(context.Context, *rest.Config) error) (u *unasked, end func() error, err error) {
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{}})
	if err != nil {
		return nil, nil, err
	}
	config := plane.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err == nil {
		err = configure(ctx, config)
	}
	url := config.Host + "/api/v1/namespaces/default/configmaps?dryRun=All"
	return &unasked{client: &http.Client{Transport: transport}, url: url}, plane.Close, err
}

// configurePods has a mutating and a validating webhook asked about Pods that are created, at an address where nobody is.
func configurePods(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	mutating := benchWebhook("https://127.0.0.1:1", nil, "pods")
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
		return err
	}
	w := mutating.Webhooks[0]
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: mutating.ObjectMeta,
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, SideEffects: w.SideEffects, AdmissionReviewVersions: w.AdmissionReviewVersions,
		}},
	}
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{})
	return err
}

// creates is how many microseconds of CPU a create takes, and how many allocations, of a turn.
func (u *unasked) creates(ctx context.Context) (took, allocated float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun, err := ownCPU()
	if err != nil {
		return 0, 0, err
	}
	for range unaskedCreates {
		if err := u.create(ctx); err != nil {
			return 0, 0, err
		}
	}
	ended, err := ownCPU()
	if err != nil {
		return 0, 0, err
	}
	runtime.ReadMemStats(&after)
	took = float64((ended - begun).Nanoseconds()) / 1000 / unaskedCreates
	return took, float64(after.Mallocs-before.Mallocs) / unaskedCreates, nil
}

func (u *unasked) create(ctx context.Context) error {
	body := strings.NewReader(`{"metadata":{"name":"bench"},"data":{"data":"` + kibibyte + `"}}`)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, body)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := u.client.Do(q)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return errors.Join(err, answer.Body.Close())
}
