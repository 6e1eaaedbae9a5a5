// Package manager is a controller that keeps an Ingress for each Service that asks for one by an annotation:
//
//	annotations:
//	  ingress/http: "true"
//
// The Ingress has the service's name and belongs to it: it is put back when somebody deletes or changes it, and goes with the
// annotation or the service. An Ingress of that name that is somebody else's is left alone.
//
// It acts on level, like all controllers here: whatever happened, it compares what a Service asks for (wish.go) with the
// Ingress that there is, and makes one request that brings them closer (reconcile.go). It knows no nginx: what serves the
// Ingresses is another controller's business.
package manager
