package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Attributes describes a request in the terms of Kubernetes' authorization.
type Attributes struct {
	User *User
	// Verb is get, list, watch, create, update, patch, delete, deletecollection, or, for a path, the HTTP method in
	// lower case.
	Verb string

	// IsResource selects between the resource fields below and Path.
	IsResource  bool
	Group       string
	Version     string
	Resource    string // the plural name
	Subresource string // empty for the resource itself
	Namespace   string // empty for the cluster scope
	Name        string // empty for a collection, and for a create

	Path string // the URL's path, for requests that are not for resources
}

// Decision is an Authorizer's answer.
type Decision int

// The possible decisions. NoOpinion defers to the next Authorizer; if none has an opinion, the request is
// denied.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// An Authorizer decides whether a user may perform a request. The reason is human-readable and may be empty;
// it ends the message of a denial. An error means that there is no decision, and the request is denied.
// Authorize is called concurrently.
type Authorizer interface {
	Authorize(ctx context.Context, a Attributes) (decision Decision, reason string, err error)
}

// AuthorizerFunc adapts a function to an Authorizer.
type AuthorizerFunc func(ctx context.Context, a Attributes) (Decision, string, error)

// Authorize calls f.
func (f AuthorizerFunc) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	return f(ctx, a)
}

// Union returns an Authorizer that consults each of list in turn; the first one with an opinion decides. Without an
// opinion, it returns NoOpinion and the errors of the authorizers that failed. The result is also a RuleLister: it
// lists the rules of each Authorizer that implements this interface.
func Union(list ...Authorizer) Authorizer { return union(list) }

type union []Authorizer

func (u union) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	var reasons []string
	var failure error
	for _, authorizer := range u {
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
}

// RulesFor implements RuleLister.
func (u union) RulesFor(ctx context.Context, user *User, namespace string) (Rules, error) {
	var all Rules
	var failures []error
	for _, authorizer := range u {
		lister, ok := authorizer.(RuleLister)
		if !ok {
			all.Incomplete = true
			continue
		}
		rules, err := lister.RulesFor(ctx, user, namespace)
		all.Resources, all.Paths = append(all.Resources, rules.Resources...), append(all.Paths, rules.Paths...)
		all.Incomplete = all.Incomplete || rules.Incomplete
		failures = append(failures, err)
	}
	return all, errors.Join(failures...)
}

// Admins allows members of AdminGroup everything and has no opinion on other users.
func Admins() Authorizer { return admins{} }

type admins struct{}

func (admins) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if a.User != nil && a.User.In(AdminGroup) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}

// RulesFor implements RuleLister.
func (admins) RulesFor(_ context.Context, user *User, _ string) (Rules, error) {
	if !user.In(AdminGroup) {
		return Rules{}, nil
	}
	all := []string{"*"}
	return Rules{
		Resources: []ResourceRule{{Verbs: all, Groups: all, Resources: all}},
		Paths:     []PathRule{{Verbs: all, Paths: all}},
	}, nil
}

// OwnPaths denies the paths below /bowline/, whatever roles grant: they show all objects, and a role for all paths,
// such as a monitor has, was written for those of Kubernetes. It has no opinion on other requests. It comes after
// Admins.
func OwnPaths() Authorizer { return ownPaths{} }

type ownPaths struct{}

func (ownPaths) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if !a.IsResource && strings.HasPrefix(a.Path, "/bowline/") {
		return Deny, "only members of " + AdminGroup + " may", nil
	}
	return NoOpinion, "", nil
}

// RulesFor implements RuleLister.
func (ownPaths) RulesFor(context.Context, *User, string) (Rules, error) { return Rules{}, nil }

// PublicPaths allows every user to read the open paths (/livez, /readyz, /healthz and /version), and every
// authenticated user the discovery paths, which describe kinds but no objects. These are the rules of the
// Kubernetes roles system:public-info-viewer and system:discovery.
func PublicPaths() Authorizer { return publicPaths{} }

type publicPaths struct{}

func (publicPaths) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if a.IsResource || a.User == nil || a.Verb != "get" {
		return NoOpinion, "", nil
	}
	if openPath(a.Path) || (discoveryPath(a.Path) && a.User.In(AuthenticatedGroup)) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}

// RulesFor implements RuleLister.
func (publicPaths) RulesFor(_ context.Context, user *User, _ string) (Rules, error) {
	get := []string{"get"}
	rules := Rules{Paths: []PathRule{{Verbs: get, Paths: slices.Clone(openPaths)}}}
	if user.In(AuthenticatedGroup) {
		paths := make([]string, 0, 2*len(discoveryRoots))
		for _, root := range discoveryRoots {
			paths = append(paths, root, root+"/*")
		}
		rules.Paths = append(rules.Paths, PathRule{Verbs: get, Paths: paths})
	}
	return rules, nil
}

// openPaths can be read without a credential: health and version.
var openPaths = []string{"/livez", "/readyz", "/healthz", "/version"}

// discoveryRoots serve discovery and OpenAPI documents.
var discoveryRoots = []string{"/api", "/apis", "/openapi"}

func openPath(path string) bool { return slices.Contains(openPaths, strings.TrimSuffix(path, "/")) }

func discoveryPath(path string) bool {
	for _, root := range discoveryRoots {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}
