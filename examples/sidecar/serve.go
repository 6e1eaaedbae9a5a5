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

// shutdownTimeout is the time limit for pending requests when the webhook stops.
const shutdownTimeout = 5 * time.Second

// ServeWebhook serves the webhook on an address of this machine, such as 127.0.0.1:0, until ctx ends. When it
// listens, it applies the MutatingWebhookConfiguration, with a new self-signed certificate. The configuration
// remains when the webhook stops, so that no pod is created without a proxy.
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

// serve serves the webhook and applies its configuration.
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
	_, err = configurations.ApplyObject(ctx, o.Configuration(url, authority),
		metav1.ApplyOptions{FieldManager: WebhookConfiguration, Force: true})
	if err == nil {
		o.Log.Info("adding sidecars to new pods", "webhook", url, "configuration", WebhookConfiguration)
		select {
		case <-ctx.Done():
		case err = <-served:
			return err
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = errors.Join(err, server.Shutdown(last))
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// templates reads the ConfigMap from a cache and parses each version of it once.
type templates struct {
	Options
	factory *informer.Factory
	cached  informer.Lister[*corev1.ConfigMap]
	last    atomic.Pointer[parsed]
}

// parsed is the result of parsing a version of the ConfigMap.
type parsed struct {
	from     *corev1.ConfigMap
	template *Template
	err      error
}

// templates returns templates with their own informer of the ConfigMap, which runs when the factory runs.
func (o Options) templates() *templates {
	f := informer.NewFactory(o.Source, informer.FactoryOptions{Log: o.Log})
	one := informer.Scope{Namespace: o.Namespace,
		Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, ConfigMap)}
	maps := informer.For[*corev1.ConfigMap](f, corev1.SchemeGroupVersion.WithResource("configmaps"), one)
	return &templates{Options: o, factory: f, cached: maps.Lister()}
}

// newest returns the template in the current version of the ConfigMap. The template is shared and must not be
// modified.
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
