package nginx

import "fmt"

// Reasons are what status and Events say about an Ingress that is not, or not wholly, served as declared. README.md says
// what to do about each.
const (
	reasonRefused             = "Refused"             // nginx refuses a configuration with it
	reasonConflict            = "Conflict"            // an older Ingress declares the same
	reasonPathTooLong         = "PathTooLong"         // nginx would take other requests for it
	reasonPathUnreachable     = "PathUnreachable"     // no request's path is that
	reasonServiceNotFound     = "ServiceNotFound"     // there is no such Service: 503
	reasonPortNotFound        = "PortNotFound"        // the Service has no such port: 503
	reasonUnsupportedBackend  = "UnsupportedBackend"  // no Service, or one outside of the cluster: 503
	reasonCertificateNotFound = "CertificateNotFound" // there is no such Secret: no HTTPS
	reasonCertificateRefused  = "CertificateRefused"  // its content is no certificate with its key: the last good one, or no HTTPS
)

// reasonServing is the Event of an Ingress that is served as declared, and was not before.
const reasonServing = "Serving"

// reasonContested is the Event of an Ingress whose status somebody else writes too.
const reasonContested = "StatusContested"

// reasonForeignClass is the Event of an IngressClass that says that it is another controller's.
const reasonForeignClass = "ForeignClass"

// problem is why something that an Ingress declares is not served.
type problem struct {
	reason  string
	message string
}

func problemf(reason, format string, arguments ...any) *problem {
	return &problem{reason, fmt.Sprintf(format, arguments...)}
}

// ofCertificate says whether the problem is one of HTTPS alone.
func (p problem) ofCertificate() bool {
	return p.reason == reasonCertificateNotFound || p.reason == reasonCertificateRefused
}
