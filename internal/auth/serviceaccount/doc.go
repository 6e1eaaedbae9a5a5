// Package serviceaccount issues and authenticates the tokens of service accounts: JSON Web Tokens (RFC 7519) with the
// claims that Kubernetes puts into them.
//
// [Issuer] signs tokens and publishes its public key as an OpenID provider does. [Authenticator] checks the signature,
// the audience and the times of a token, and that the service account and the object that the token is bound to still
// exist. The package knows neither kinds nor the store: its caller passes a [Lookup]. The subresource
// serviceaccounts/token, which validates a request for a token, is in package internal/server/write.
//
// A legacy token is held in a Secret of the type kubernetes.io/service-account-token, where the controller
// serviceaccount-token-controller stores it.
package serviceaccount
