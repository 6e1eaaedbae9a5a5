package auth

import "context"

// Rules lists what a user may do.
type Rules struct {
	Resources []ResourceRule
	Paths     []PathRule
	// Incomplete reports that the user may have further rights, which an Authorizer cannot list.
	Incomplete bool
}

// ResourceRule allows verbs on resources. "*" stands for all verbs, groups or resources.
type ResourceRule struct {
	Verbs, Groups, Resources []string
	Names                    []string // the names of the objects; none stands for all
}

// PathRule allows verbs on paths. "*" stands for all verbs; a path may end in "*".
type PathRule struct {
	Verbs, Paths []string
}

// A RuleLister is an Authorizer that can list what it allows a user in a namespace, and outside of all namespaces. If
// RulesFor returns an error, the returned rules still hold, but others may be missing. RulesFor is called concurrently.
type RuleLister interface {
	RulesFor(ctx context.Context, user *User, namespace string) (Rules, error)
}
