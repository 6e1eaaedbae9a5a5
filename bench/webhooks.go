package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// hookName is the name of the bench's webhook.
const hookName = "webhook.bench.bowline.example.com"

// throughWebhook measures creates with a webhook on loopback, in the bench's process, that adds a label.
func throughWebhook(clients, count int, f figure) measurement {
	return measurement{
		figures: []figure{f},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			hook, err := startLabelling(ctx, s, client)
			if err != nil {
				return nil, err
			}
			defer hook.Close()
			var mu sync.Mutex
			var beside []time.Duration
			create := createConfigMap(ctx, client, namespace)
			timed := func(i int) error {
				start := time.Now()
				err := create(i)
				took := time.Since(start) - hook.own(configMapName(i))
				mu.Lock()
				defer mu.Unlock()
				beside = append(beside, took)
				return err
			}
			if err := drive(ctx, clients, warmUp, timed); err != nil {
				return nil, err
			}
			beside = nil
			took, err := s.measure(fmt.Sprintf("webhook-%d", clients), count, func() error {
				return drive(ctx, clients, count, func(i int) error { return timed(warmUp + i) })
			})
			if err != nil {
				return nil, err
			}
			slices.Sort(beside)
			r := took.rate()
			if f.unit == milliseconds {
				r.Value = float64(beside[len(beside)/2].Microseconds()) / 1000
			}
			return []reading{r}, nil
		}),
	}
}

func webhookBySelf() measurement {
	return throughWebhook(1, 2_000,
		figure{"create ConfigMap through one webhook, 1 client: p50 over the webhook's own time", milliseconds, 2})
}

func webhookByMany() measurement {
	return throughWebhook(16, 10_000, figure{"create ConfigMap through one webhook, 16 clients", perSecond, 1_000})
}

// labelling is a webhook that adds a label and records the duration of each response.
type labelling struct {
	*httptest.Server
	took sync.Map // time.Duration by object name
}

// startLabelling starts the webhook and configures it for new ConfigMaps.
func startLabelling(ctx context.Context, s *server, client kubernetes.Interface) (*labelling, error) {
	l := &labelling{}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(l.serve))
	l.EnableHTTP2 = true
	l.StartTLS()
	configuration := benchWebhook(l.URL,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw}), "configmaps")
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	s.cleanup = append(s.cleanup, func(ctx context.Context) error {
		return configurations.Delete(ctx, hookName, metav1.DeleteOptions{})
	})
	_, err := configurations.Create(ctx, configuration, metav1.CreateOptions{})
	return l, err
}

// own returns the duration of the webhook's response for an object.
func (l *labelling) own(name string) time.Duration {
	took, _ := l.took.LoadAndDelete(name)
	d, _ := took.(time.Duration)
	return d
}

func (l *labelling) serve(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := review.Request.Name
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
		Patch: []byte(`[{"op":"add","path":"/metadata/labels","value":{"asked":"yes"}}]`),
	}
	review.Request = nil
	answer, err := json.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	l.took.Store(name, time.Since(start))
	w.Write(answer)
}

// benchWebhook returns a configuration with which the webhook is called for creates of a core resource.
func benchWebhook(url string, authority []byte, resource string) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: hookName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: hookName, ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{resource}},
			}},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}
}
