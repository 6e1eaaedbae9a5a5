package server_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// startWebhookAs starts a webhook whose certificate is valid for a host, and returns the authority that signed
// it.
func startWebhookAs(t testing.TB, host string) (g *webhook, authority []byte) {
	t.Helper()
	keys := must(pki.New([]string{host}))(t)
	g = &webhook{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(g.serve))
	g.TLS = keys.ServerConfig()
	g.StartTLS()
	t.Cleanup(g.Server.Close)
	return g, keys.AuthorityPEM()
}

// byService returns a clientConfig that names the Service hook in the namespace default, at the webhook's
// port.
func (g *webhook) byService(t testing.TB, authority []byte) string {
	t.Helper()
	port := must(url.Parse(g.URL))(t).Port()
	bundle := string(must(json.Marshal(authority))(t))
	return `{"service":{"namespace":"default","name":"hook","path":"/review","port":` + port + `},"caBundle":` +
		bundle + `}`
}

// A webhook behind a Service is called at the Service's address, and its certificate must have the Service's
// name.
func TestWebhookService(t *testing.T) {
	t.Parallel()
	w := start(t)
	g, authority := startWebhookAs(t, "hook.default.svc")
	other, _ := startWebhookAs(t, "other.default.svc")
	registerWebhook(t, w, validatingPath, "v", g, `"clientConfig":`+g.byService(t, authority))
	create := func() response { return w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`) }
	failed := func(text string) {
		t.Helper()
		create().wantError(t, http.StatusInternalServerError, metav1.StatusReasonInternalError, text)
	}
	failed(`service "hook" not found`)
	const services = "/api/v1/namespaces/default/services"
	w.send(t, http.MethodPost, services,
		`{"metadata":{"name":"hook"},"spec":{"type":"ExternalName","externalName":"localhost"}}`).want(t,
		http.StatusCreated)
	create().want(t, http.StatusCreated)
	patchWebhook(t, w, validatingPath, "v", "clientConfig", other.byService(t, authority))
	failed(`x509: certificate`)

	patchWebhook(t, w, validatingPath, "v", "clientConfig", g.byService(t, authority))
	replaceService := func(spec string) {
		t.Helper()
		w.send(t, http.MethodDelete, services+"/hook", "").want(t, http.StatusOK)
		w.send(t, http.MethodPost, services, `{"metadata":{"name":"hook"},"spec":`+spec+`}`).want(t, http.StatusCreated)
	}
	replaceService(`{"ports":[{"port":1}]}`)
	failed(`no service port`)
	replaceService(`{"clusterIP":"None","ports":[{"port":` + must(url.Parse(g.URL))(t).Port() + `}]}`)
	failed(`cannot route to service with ClusterIP "None"`)
}

// Only the CA bundle of a webhook's configuration is trusted, and a new bundle takes effect at once.
func TestWebhookCABundle(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, nil)
	_, stranger := startWebhookAs(t, "stranger")
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	registerWebhook(t, w, validatingPath, "v", g, "")
	for _, s := range []struct {
		name   string
		bundle []byte
		text   string // of the error; empty if the call succeeds
	}{
		{"its own", own, ""},
		{"somebody else's", stranger, "x509: certificate signed by unknown authority"},
		{"the system's", nil, "x509: certificate signed by unknown authority"},
		{"both", append(stranger, own...), ""},
	} {
		patchWebhook(t, w, validatingPath, "v", "clientConfig/caBundle", string(must(json.Marshal(s.bundle))(t)))
		r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`)
		if s.text == "" {
			r.want(t, http.StatusCreated)
			continue
		}
		r.wantError(t, http.StatusInternalServerError, metav1.StatusReasonInternalError, s.text)
	}
	patchWebhook(t, w, validatingPath, "v", "clientConfig/caBundle", `"bm9uZQ=="`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusInternalServerError,
		metav1.StatusReasonInternalError, "unable to load root certificates: unable to parse bytes as PEM block")
}

// A webhook that cannot be reached rejects the write, and each later write tries it again.
func TestUnreachableWebhook(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, nil)
	registerWebhook(t, w, mutatingPath, "gone", g, "")
	g.CloseClientConnections()
	g.Listener.Close()
	for range 2 {
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusInternalServerError,
			metav1.StatusReasonInternalError,
			`failed calling webhook "gone.example.com": failed to call webhook: Post "`+g.URL+`/review?timeout=10s"`)
	}
	patchWebhook(t, w, mutatingPath, "gone", "clientConfig", startWebhook(t, nil).client())
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
}

// Creating and deleting a configuration takes effect for the next write.
func TestWebhookConfigurationTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, deny("no"))
	for i := range 20 {
		registerWebhook(t, w, validatingPath, "v", g, "")
		create := func() response {
			return w.send(t, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":"a-%d"}}`, i))
		}
		create().want(t, http.StatusForbidden)
		w.send(t, http.MethodDelete, validatingPath+"/v", "").want(t, http.StatusOK)
		create().want(t, http.StatusCreated)
	}
}
