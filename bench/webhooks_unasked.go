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

// childUnasked is the argument of a process with webhooks that are never called.
const childUnasked = "child-unasked"

func init() { children[childUnasked] = measureUnasked }

// unaskedWebhooks measures the cost of webhooks for writes of other resources.
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

// unaskedTurns is the number of turns of each plane, with and without webhooks; unaskedCreates is the number
// of creates in a turn.
const unaskedTurns, unaskedCreates = 1200, 15

// measureUnasked sends dry runs to two planes in its process, and prints upper bounds of the additional
// microseconds and allocations of a create with webhooks.
func measureUnasked(ctx context.Context, _ []string) error { return besides(ctx, configurePods) }

// besides compares a plane without a configuration to one with any configuration.
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
			continue // warm-up
		}
		sign := float64(1 - 2*(turn%2))
		times = append(times, sign*(tookSecond-took))
		counts = append(counts, sign*(allocatedSecond-allocated))
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{atMost(times), atMost(counts)})
}

// atMost returns an upper bound of the median of differences with 97.5 % confidence, by its order statistics.
// A plain median could hide a difference far below the variation between turns, or show it as a gain.
func atMost(differences []float64) float64 {
	slices.Sort(differences)
	n := float64(len(differences))
	upper := int(math.Ceil(n/2 + 1.96*math.Sqrt(n)/2))
	return max(0, differences[min(upper, len(differences)-1)])
}

// unasked is a plane that receives dry-run creates of a ConfigMap: nothing is stored, and all requests are
// equal.
type unasked struct {
	client *http.Client
	url    string
}

// newUnasked starts a plane and configures it.
func newUnasked(ctx context.Context,
	configure func(context.Context, *rest.Config) error) (u *unasked, end func() error, err error) {
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{bowline.NoControllers}})
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

// configurePods creates a mutating and a validating webhook for new Pods, at an address without a listener.
func configurePods(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	mutating := benchWebhook("https://127.0.0.1:1", nil, "pods")
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, mutating,
		metav1.CreateOptions{}); err != nil {
		return err
	}
	w := mutating.Webhooks[0]
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: mutating.ObjectMeta,
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, SideEffects: w.SideEffects,
			AdmissionReviewVersions: w.AdmissionReviewVersions,
		}},
	}
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, validating,
		metav1.CreateOptions{})
	return err
}

// creates returns the CPU time in microseconds and the allocations of a create, averaged over a turn.
func (u *unasked) creates(ctx context.Context) (took, allocated float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	startCPU, err := ownCPU()
	if err != nil {
		return 0, 0, err
	}
	for range unaskedCreates {
		if err := u.create(ctx); err != nil {
			return 0, 0, err
		}
	}
	endCPU, err := ownCPU()
	if err != nil {
		return 0, 0, err
	}
	runtime.ReadMemStats(&after)
	took = float64((endCPU - startCPU).Nanoseconds()) / 1000 / unaskedCreates
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
