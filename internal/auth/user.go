package auth

import (
	"context"
	"slices"
)

// Names and groups with a special meaning in Kubernetes.
const (
	AnonymousName        = "system:anonymous"
	AuthenticatedGroup   = "system:authenticated"
	UnauthenticatedGroup = "system:unauthenticated"

	// AccountPrefix begins the user names of service accounts: system:serviceaccount:NAMESPACE:NAME.
	AccountPrefix = "system:serviceaccount:"

	// AdminGroup may do everything. No rule can revoke that, so administrators cannot lock themselves out.
	AdminGroup = "system:masters"
)

// User is the authenticated user of a request. Users are shared between requests and must not be modified.
type User struct {
	Name string
	// UID distinguishes users that had the same name at different times; empty for users without one.
	UID string
	// Groups includes AuthenticatedGroup or UnauthenticatedGroup, which the Authenticator adds.
	Groups []string
	// Extra has additional attributes from the Authenticator, for the audit log and for authorizers.
	Extra map[string][]string
	// Warnings are sent with the answers to requests that the user authenticates.
	Warnings []string
}

// In reports whether the user is a member of the group.
func (u *User) In(group string) bool { return slices.Contains(u.Groups, group) }

// NewUser returns an authenticated user with these groups and AuthenticatedGroup.
func NewUser(name string, groups ...string) *User {
	all := make([]string, 0, len(groups)+1)
	all = append(all, groups...)
	if !slices.Contains(all, AuthenticatedGroup) {
		all = append(all, AuthenticatedGroup)
	}
	return &User{Name: name, Groups: all}
}

type userKey struct{}

// WithUser returns a context that carries the user: of an in-process call, and, after the server's
// authentication stage, of every request.
func WithUser(ctx context.Context, user *User) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// UserFrom returns the user that WithUser put into the context.
func UserFrom(ctx context.Context) (*User, bool) {
	user, ok := ctx.Value(userKey{}).(*User)
	return user, ok && user != nil
}
