package plugins

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

var services = schema.GroupResource{Resource: "services"}

// DenyExternalIPs rejects services with new external addresses, with which a user could intercept the traffic of others
// (CVE-2020-8554; Kubernetes' DenyServiceExternalIPs). It is off by default.
type DenyExternalIPs struct{}

// Name implements admission.Plugin.
func (DenyExternalIPs) Name() string { return "DenyServiceExternalIPs" }

// Handles implements admission.Plugin.
func (DenyExternalIPs) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == services && sub == "" && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (DenyExternalIPs) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin. An update may retain the addresses of a service.
func (DenyExternalIPs) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	service, ok := a.Object.(*corev1.Service)
	if !ok {
		return nil
	}
	var has []string
	if old, updates := a.Old.(*corev1.Service); updates && old != nil {
		has = old.Spec.ExternalIPs
	}
	for _, ip := range service.Spec.ExternalIPs {
		if !slices.Contains(has, ip) {
			return a.Forbidden("Use of external IPs is denied by admission control")
		}
	}
	return nil
}
