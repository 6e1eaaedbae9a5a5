package auth

import (
	"context"
	"strings"
)

// Attributes describe what a request wants to do, in the terms of Kubernetes' authorization.
type Attributes struct {
	User *User
	// Verb is get, list, watch, create, update, patch, delete, deletecollection, or, for a path, the HTTP method in
	// lower case.
	Verb string

	// IsResource says which half below is meant: the resource, or the Path.
	IsResource  bool
	Group       string
	Version     string
	Resource    string // the plural name
	Subresource string // empty for the resource itself
	Namespace   string // empty for the cluster scope
	Name        string // empty for a collection, and for a create

	Path string // the URL's path, for what is not a resource
}

// Decision is an Authorizer's answer.
type Decision int

// The three answers. NoOpinion leaves it to the next Authorizer; when nobody has an opinion, the request is refused.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// An Authorizer says whether a user may do something. The reason is for people, and may be empty: it ends the message
// of a refusal. An error means that it could not find out; the request is refused then. Authorize is called
// concurrently.
type Authorizer interface {
	Authorize(ctx context.Context, a Attributes) (decision Decision, reason string, err error)
}

// AuthorizerFunc is a function that is an Authorizer.
type AuthorizerFunc func(ctx context.Context, a Attributes) (Decision, string, error)

// Authorize calls f.
func (f AuthorizerFunc) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	return f(ctx, a)
}

// Union asks each Authorizer in turn; the first that has an opinion decides. An error of one that has none is kept
// and returned with NoOpinion when nobody else decides.
func Union(list ...Authorizer) Authorizer {
	return AuthorizerFunc(func(ctx context.Context, a Attributes) (Decision, string, error) {
		var reasons []string
		var failure error
		for _, authorizer := range list {
			decision, reason, err := authorizer.Authorize(ctx, a)
			if decision != NoOpinion {
				return decision, reason, err
			}
			if err != nil && failure == nil {
				failure = err
			}
			if reason != "" {
				reasons = append(reasons, reason)
			}
		}
		return NoOpinion, strings.Join(reasons, ", "), failure
	})
}

// Admins lets AdminGroup do everything and has no opinion of others.
func Admins() Authorizer {
	return AuthorizerFunc(func(_ context.Context, a Attributes) (Decision, string, error) {
		if a.User != nil && a.User.In(AdminGroup) {
			return Allow, "", nil
		}
		return NoOpinion, "", nil
	})
}

// PublicPaths lets everybody read the open paths (/livez, /readyz, /healthz and /version), and every authenticated user
// the paths of discovery, which name kinds but show no object. These are the rules of Kubernetes' roles
// system:public-info-viewer and system:discovery.
func PublicPaths() Authorizer {
	return AuthorizerFunc(func(_ context.Context, a Attributes) (Decision, string, error) {
		if a.IsResource || a.User == nil || a.Verb != "get" {
			return NoOpinion, "", nil
		}
		if openPath(a.Path) || (discoveryPath(a.Path) && a.User.In(AuthenticatedGroup)) {
			return Allow, "", nil
		}
		return NoOpinion, "", nil
	})
}

// openPath reports whether the path is one that everybody may read, with or without a credential: whether the server
// lives, and which version it is.
func openPath(path string) bool {
	switch strings.TrimSuffix(path, "/") {
	case "/livez", "/readyz", "/healthz", "/version":
		return true
	}
	return false
}

// discoveryPath reports whether the path tells which kinds there are and how they look.
func discoveryPath(path string) bool {
	for _, root := range []string{"/api", "/apis", "/openapi"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}
