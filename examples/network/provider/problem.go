package provider

// Reason is why a provider could not do its work, in one word that a program may compare.
type Reason string

// The reasons that are told apart, because what to do about them differs.
const (
	// Unreachable: what makes networks real does not answer, or not properly. Nothing has to be changed; it is tried again.
	Unreachable Reason = "Unreachable"
	// Unauthorized: it refuses the credentials, or what they may do is not enough. The operator has to change them.
	Unauthorized Reason = "Unauthorized"
	// QuotaExceeded: no more may be made. Something else has to go first, or the limit be raised.
	QuotaExceeded Reason = "QuotaExceeded"
	// InUse: others use what was to be removed or changed. It goes on when they no longer do.
	InUse Reason = "InUse"
	// Refused: it will not make such a network. The user has to declare another one.
	Refused Reason = "Refused"
	// NotConfigured: it answers, and is not set up to make networks. Its operator has to set it up.
	NotConfigured Reason = "NotConfigured"
	// Failed: anything else. It is tried again.
	Failed Reason = "ProviderError"
)

// Problem is a failure that says what to do about it. A provider fails with one where it can tell.
type Problem struct {
	Reason Reason
	// Message is a sentence for the user: what cannot be done, and what to change. The same failure has the same message each
	// time, without a time, a port or a number of a request, since it becomes part of a status that is written when it changes.
	Message string
	// Err is what happened in detail, for the log; nil for nothing more.
	Err error
}

// Error is the message and the detail.
func (p *Problem) Error() string {
	if p.Err == nil {
		return p.Message
	}
	return p.Message + " (" + p.Err.Error() + ")"
}

// Unwrap is the detail.
func (p *Problem) Unwrap() error { return p.Err }
