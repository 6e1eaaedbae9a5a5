package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Network declares a network: its address range and its gateway.
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired network.
	Spec NetworkSpec `json:"spec"`
	// Status is the observed network. Only the controller writes it.
	Status NetworkStatus `json:"status,omitzero"`
}

// NetworkSpec is the network that the user wants.
type NetworkSpec struct {
	// CIDR is the network's address range, as in 192.168.0.0/16, with no bits set after the prefix.
	CIDR string `json:"cidr"`
	// Gateway is an address within CIDR, as in 192.168.0.1.
	Gateway string `json:"gateway,omitempty"`
}

// NetworkStatus is the network as the controller last observed it.
type NetworkStatus struct {
	// Provider is the name of the provider of the real network: bridge, record or neutron.
	Provider string `json:"provider,omitempty"`
	// ID is the provider's name of the real network. The ID is derived from the object's UID and never
	// changes.
	ID string `json:"id,omitempty"`
	// ObservedGeneration is the metadata.generation that the status describes. It is empty if the kind has no
	// status subresource, because then each status write itself raises the generation.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions contains one condition of this controller, Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionReady is the type of the controller's condition. It is True if the real network matches the spec.
const ConditionReady = "Ready"

// Reasons of the Ready condition.
const (
	// ReasonProvisioned (True): the real network matches the spec.
	ReasonProvisioned = "Provisioned"
	// ReasonInvalidSpec (False): the spec describes no valid network; the user has to change it.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonUnreachable (False): the provider's backend does not answer; the controller retries.
	ReasonUnreachable = "Unreachable"
	// ReasonUnauthorized (False): the backend rejects the controller's credentials, or they lack a
	// permission.
	ReasonUnauthorized = "Unauthorized"
	// ReasonQuotaExceeded (False): the quota permits no more networks.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonInUse (False): the network or subnet to be removed or changed is in use; the controller retries
	// until it is free.
	ReasonInUse = "InUse"
	// ReasonRefused (False): the provider does not support such a network; the user has to change the spec.
	ReasonRefused = "Refused"
	// ReasonNotConfigured (False): the backend is not set up to create networks; its operator has to
	// configure it.
	ReasonNotConfigured = "NotConfigured"
	// ReasonProviderError (False): any other failure of the provider; the controller retries.
	ReasonProviderError = "ProviderError"
)

// NetworkList is a list of Networks.
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Network `json:"items"`
}
