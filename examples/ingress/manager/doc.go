// Package manager implements a controller that maintains an Ingress for each Service that requests one by an
// annotation:
//
//	annotations:
//	  ingress/http: "true"
//
// The Ingress has the service's name and is owned by it. It is restored when it is deleted or changed, and
// removed with the annotation or the service. An Ingress of that name with another owner is not touched.
//
// The controller is level-triggered: on every event it compares the Ingress that the Service requests
// (desired.go) with the existing one, and sends one request to bring them closer (reconcile.go). It does not
// depend on nginx; another controller serves the Ingresses.
package manager
