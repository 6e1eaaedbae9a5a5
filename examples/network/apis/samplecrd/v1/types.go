package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Network declares a network: its addresses and the gateway that answers in it.
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec NetworkSpec `json:"spec"`
	// Status is what the controller found and did; users do not write it.
	Status NetworkStatus `json:"status,omitzero"`
}

// NetworkSpec is the network that the user wants.
type NetworkSpec struct {
	// CIDR is the network's address range, as in 192.168.0.0/16, with no bits set after the prefix.
	CIDR string `json:"cidr"`
	// Gateway is an address within CIDR, as in 192.168.0.1.
	Gateway string `json:"gateway,omitempty"`
}

// NetworkStatus is the network as it is.
type NetworkStatus struct {
	// Provider is what makes the network real: bridge, record or neutron.
	Provider string `json:"provider,omitempty"`
	// ID is the provider's name of the real network. It is made from the object's uid, so it never changes.
	ID string `json:"id,omitempty"`
	// ObservedGeneration is the metadata.generation that the status answers. It stays empty where the kind has no status
	// subresource: there a status write is itself a change that raises the generation.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions has one condition, Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionReady is the type of the one condition: True when the real network is what the spec asks for.
const ConditionReady = "Ready"

// Reasons of the Ready condition.
const (
	// ReasonProvisioned (True): the real network is what the spec asks for.
	ReasonProvisioned = "Provisioned"
	// ReasonInvalidSpec (False): no network can be made from the spec; the user has to change it.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonUnreachable (False): what makes networks real does not answer; the controller tries again.
	ReasonUnreachable = "Unreachable"
	// ReasonUnauthorized (False): it refuses the controller's credentials, or what they may do is not enough.
	ReasonUnauthorized = "Unauthorized"
	// ReasonQuotaExceeded (False): no more networks may be made.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonInUse (False): others use what is to be removed or changed; it goes on when they no longer do.
	ReasonInUse = "InUse"
	// ReasonRefused (False): the provider makes no such network; the user has to change the spec.
	ReasonRefused = "Refused"
	// ReasonNotConfigured (False): what makes networks real is not set up for it; its operator has to do that.
	ReasonNotConfigured = "NotConfigured"
	// ReasonProviderError (False): the provider failed otherwise; the controller tries again.
	ReasonProviderError = "ProviderError"
)

// NetworkList is a list of Networks.
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Network `json:"items"`
}
