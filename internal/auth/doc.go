// Package auth authenticates and authorizes requests.
//
// An [Authenticator] identifies the [User] of a request: by client certificate ([ClientCertificates]), by the
// context of an in-process call ([InProcess]), or as anonymous ([Anonymous]); package serviceaccount authenticates
// tokens. An [Authorizer] decides whether that user may perform the request described by [Attributes]; [Forbidden]
// returns the denial with Kubernetes' wording.
//
// The package knows neither kinds nor storage, and opens no connection. The server calls it for each request. Package
// rbac is the Authorizer of roles and bindings, and package pki issues certificates.
package auth
