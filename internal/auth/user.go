package auth

import (
	"context"
	"slices"
)

// Names and groups that have a meaning of their own, as Kubernetes spells them.
const (
	AnonymousName        = "system:anonymous"
	AuthenticatedGroup   = "system:authenticated"
	UnauthenticatedGroup = "system:unauthenticated"

	// AdminGroup may do everything. No rule can take that away, so that nobody locks themselves out.
	AdminGroup = "system:masters"
)

// User is who sends a request. Users are shared between requests: treat them as immutable.
type User struct {
	Name string
	// Groups holds AuthenticatedGroup or UnauthenticatedGroup too, put there by the Authenticator.
	Groups []string
	// Extra is what else the Authenticator knows, for the audit log and for authorizers that ask.
	Extra map[string][]string
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

// WithUser returns a context that carries the user: the identity of a call within the process, and, behind the
// authenticate stage of the server, of every request.
func WithUser(ctx context.Context, user *User) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// UserFrom returns the user that WithUser put into the context.
func UserFrom(ctx context.Context) (*User, bool) {
	user, ok := ctx.Value(userKey{}).(*User)
	return user, ok && user != nil
}
