package sidecar

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// farewell is how long questions are still answered when the webhook ends.
const farewell = 5 * time.Second

// ServeWebhook answers on an address of this machine, such as 127.0.0.1:0, and has the server ask there, until ctx ends: it applies
// the MutatingWebhookConfiguration once it answers, with a certificate that it makes for itself. The configuration stays when
// the webhook ends: pods without a proxy would be worse than none.
func ServeWebhook(ctx context.Context, o Options, address string) error {
	o = o.withDefaults()
	c, err := client.New(o.Config)
	if err != nil {
		return err
	}
	if o.Source == nil {
		o.Source = client.NewSource(c)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	templates := o.templates()
	informed := make(chan struct{})
	go func() { defer close(informed); templates.factory.Run(ctx) }()
	defer func() { stop(); <-informed }()
	if err := templates.factory.WaitForSync(ctx); err != nil {
		return fmt.Errorf("read config map %s/%s: %w", o.Namespace, ConfigMap, err)
	}
	return o.serve(ctx, c, address, &Webhook{Options: o, Template: templates.newest})
}

// serve answers, and says so to the server.
func (o Options) serve(ctx context.Context, c *client.Client, address string, w *Webhook) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	certificate, authority, err := selfSigned(listener.Addr())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
	}}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	url := "https://" + listener.Addr().String()
	configurations := client.For[*admissionregistrationv1.MutatingWebhookConfiguration](c)
	_, err = configurations.ApplyObject(ctx, o.Configuration(url, authority), metav1.ApplyOptions{FieldManager: WebhookConfiguration, Force: true})
	if err == nil {
		o.Log.Info("pods get their sidecar", "webhook", url, "configuration", WebhookConfiguration)
		select {
		case <-ctx.Done():
		case err = <-served:
			return err
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	err = errors.Join(err, server.Shutdown(last))
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// templates read the ConfigMap as it is, and parse each state of it once.
type templates struct {
	Options
	factory *informer.Factory
	cached  informer.Lister[*corev1.ConfigMap]
	last    atomic.Pointer[parsed]
}

// parsed is what was made of a state of the ConfigMap.
type parsed struct {
	from     *corev1.ConfigMap
	template *Template
	err      error
}

// templates are those of a cache that holds the one ConfigMap, and is filled by its factory's Run.
func (o Options) templates() *templates {
	f := informer.NewFactory(o.Source, informer.FactoryOptions{Log: o.Log})
	one := informer.Scope{Namespace: o.Namespace, Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, ConfigMap)}
	maps := informer.For[*corev1.ConfigMap](f, corev1.SchemeGroupVersion.WithResource("configmaps"), one)
	return &templates{Options: o, factory: f, cached: maps.Lister()}
}

// newest is the template as the ConfigMap has it now. It is shared: nothing of it is changed.
func (t *templates) newest() (*Template, error) {
	cm, err := t.cached.Get(t.Namespace, ConfigMap)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	p := t.last.Load()
	if p == nil || p.from != cm {
		p = &parsed{from: cm}
		p.template, p.err = ReadTemplate(cm)
		t.last.Store(p)
	}
	return p.template, p.err
}
