// Package auth answers the first two questions of every request: who is it, and may they.
//
// An [Authenticator] turns a request into a [User]: from its client certificate ([ClientCertificates]), from the
// context of a call within the process ([InProcess]), or as nobody in particular ([Anonymous]). An [Authorizer] says
// whether that user may do what the request asks, described by [Attributes]; [Forbidden] words a refusal as
// Kubernetes does.
//
// The package knows neither kinds nor storage, and opens no connection. The server calls it, once per request;
// rules that live in the API (roles and their bindings) are one more Authorizer. Package pki makes the certificates.
package auth
