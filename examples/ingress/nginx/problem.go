package nginx

import "fmt"

// Reasons of status and Events for an Ingress that is not served, or not completely. README.md describes what
// to do about each.
const (
	reasonRefused             = "Refused"             // nginx refuses a configuration with it
	reasonConflict            = "Conflict"            // an older Ingress declares the same
	reasonPathTooLong         = "PathTooLong"         // nginx would match other paths too
	reasonPathUnreachable     = "PathUnreachable"     // no request can have the path
	reasonServiceNotFound     = "ServiceNotFound"     // the Service does not exist: 503
	reasonPortNotFound        = "PortNotFound"        // the Service does not have the port: 503
	reasonUnsupportedBackend  = "UnsupportedBackend"  // not a Service, or a Service of type ExternalName: 503
	reasonCertificateNotFound = "CertificateNotFound" // the Secret does not exist: no HTTPS
	// the Secret is not a certificate with its key: the last good one, or no HTTPS
	reasonCertificateRefused = "CertificateRefused"
)

// reasonServing is the reason of the Event for an Ingress that is now served as declared.
const reasonServing = "Serving"

// reasonContested is the reason of the Event for an Ingress whose status another controller overwrites.
const reasonContested = "StatusContested"

// reasonForeignClass is the reason of the Event for an IngressClass of another controller.
const reasonForeignClass = "ForeignClass"

// problem is the reason why a part of an Ingress is not served.
type problem struct {
	reason  string
	message string
}

func problemf(reason, format string, arguments ...any) *problem {
	return &problem{reason, fmt.Sprintf(format, arguments...)}
}

// ofCertificate reports whether the problem affects only HTTPS.
func (p problem) ofCertificate() bool {
	return p.reason == reasonCertificateNotFound || p.reason == reasonCertificateRefused
}
