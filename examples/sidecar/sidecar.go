// Package sidecar puts a container beside those that a Pod declares, before anybody sees it: its user declares one container, and
// has an Envoy proxy with it, whose definition is in a ConfigMap. It does so in either of two ways, from the one template:
//
//	webhook.go, serve.go   a mutating webhook: the server asks before it stores the pod, and gets a patch
//	initializer.go         an initializer: the server stores the pod and hides it, and a controller patches it
//	template.go            what both add, and the patches that add it
//
// Its callers are the example's program (cmd) and its tests.
package sidecar

import (
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
)

const (
	// ConfigMap is the name of the one that has the template, and Key where in it that is.
	ConfigMap, Key = "envoy-initializer", "config"
	// Annotation of a pod says "true" for one that wants the container, and anything else for one that does not.
	Annotation = "initializer.kubernetes.io/envoy"
)

// Options are what both ways need. Config is required.
type Options struct {
	// Config reaches the server.
	Config *rest.Config
	// Source is where the server's own process gets objects from without bytes; nil reads over Config.
	Source client.Source
	// Namespace has the ConfigMap; empty means default.
	Namespace string
	// OnlyAnnotated leaves pods alone that do not ask for the container by the Annotation. Otherwise those alone are left that
	// say no.
	OnlyAnnotated bool
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// withDefaults are the options with what stands for those that are not set.
func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = metav1.NamespaceDefault
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Wants says whether a pod with these annotations is to have the container.
func (o Options) Wants(annotations map[string]string) bool {
	asked, said := annotations[Annotation]
	if !said {
		return !o.OnlyAnnotated
	}
	return asked == "true"
}
