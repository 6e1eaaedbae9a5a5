// Package sidecar adds a container to each new Pod before the pod becomes visible: its user declares one
// container, and gets an Envoy proxy beside it, which is defined in a ConfigMap. It implements this in two
// ways, based on the same template:
//
//	webhook.go, serve.go   a mutating webhook: the server calls it before it stores the pod, and applies the patch of
//	                       the response
//	initializer.go         an initializer: the server stores the pod but hides it until a controller has patched it
//	template.go            the template, and the patches that add it
//
// A third way needs no program: the admission policy in example/mutatingadmissionpolicy.yaml. The example's program
// (cmd) and tests call the package.
package sidecar

import (
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
)

const (
	// ConfigMap is the name of the ConfigMap with the template, and Key the template's key in its data.
	ConfigMap, Key = "envoy-initializer", "config"
	// Annotation is the annotation that selects a pod: the value "true" requests the container, any other
	// value declines it.
	Annotation = "initializer.kubernetes.io/envoy"
)

// Options configure the webhook and the initializer. Config is required.
type Options struct {
	// Config is the client configuration of the server.
	Config *rest.Config
	// Source provides objects without encoding in the server's own process; nil reads over Config.
	Source client.Source
	// Namespace is the namespace of the ConfigMap; empty means default.
	Namespace string
	// OnlyAnnotated restricts the container to pods that request it by the Annotation. Otherwise all pods
	// except those that decline get the container.
	OnlyAnnotated bool
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// withDefaults returns the options with defaults for empty fields.
func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = metav1.NamespaceDefault
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Wants reports whether a pod with these annotations gets the container.
func (o Options) Wants(annotations map[string]string) bool {
	value, annotated := annotations[Annotation]
	if !annotated {
		return !o.OnlyAnnotated
	}
	return value == "true"
}
