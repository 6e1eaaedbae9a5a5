// Package auth authenticates and authorizes requests.
//
// An [Authenticator] identifies the [User] of a request: by client certificate ([ClientCertificates]), by the
// context of an in-process call ([InProcess]), or as anonymous ([Anonymous]); package serviceaccount authenticates
// tokens. An [Authorizer] decides whether that user may perform the request described by [Attributes]; [Forbidden]
// returns the denial with Kubernetes' wording.
//
// The package knows neither kinds nor storage, and opens no connection. The server calls it once per request;
// rules stored in the API (roles and their bindings) would be another Authorizer. Package pki issues
// certificates.
package auth
