package provider

// Reason is the reason why a provider failed, in one word that programs may compare.
type Reason string

// The reasons. They are distinguished because each requires a different action.
const (
	// Unreachable: the backend does not answer, or not properly. No change is needed; the operation is
	// retried.
	Unreachable Reason = "Unreachable"
	// Unauthorized: the backend rejects the credentials, or they lack a permission. The operator has to
	// change them.
	Unauthorized Reason = "Unauthorized"
	// QuotaExceeded: the quota permits no more networks. Remove others or raise the quota.
	QuotaExceeded Reason = "QuotaExceeded"
	// InUse: the network or subnet to be removed or changed is in use. The operation succeeds when it is
	// free.
	InUse Reason = "InUse"
	// Refused: the backend does not support such a network. The user has to declare a different one.
	Refused Reason = "Refused"
	// NotConfigured: the backend answers but is not set up to create networks. Its operator has to configure
	// it.
	NotConfigured Reason = "NotConfigured"
	// Failed: any other failure. The operation is retried.
	Failed Reason = "ProviderError"
)

// Problem is an error with instructions for the user. Providers return one if they can tell.
type Problem struct {
	Reason Reason
	// Message is a sentence for the user: what failed, and what to change. It is identical for the same
	// failure, without times, ports or request IDs, because it becomes part of a status, which is written
	// whenever it changes.
	Message string
	// Err is the underlying error, for the log; it may be nil.
	Err error
}

// Error returns the message and the underlying error.
func (p *Problem) Error() string {
	if p.Err == nil {
		return p.Message
	}
	return p.Message + " (" + p.Err.Error() + ")"
}

// Unwrap returns the underlying error.
func (p *Problem) Unwrap() error { return p.Err }
