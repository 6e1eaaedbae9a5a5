package auth

import "net/http"

// An Authenticator identifies the user of a request.
//
// ok is false if the request has no credential that this Authenticator reads; the caller then tries the next
// one. An error means that the request has an invalid credential of this Authenticator's kind; the request is
// then rejected with 401. Authenticate is called concurrently. The returned User is shared and must not be
// modified.
type Authenticator interface {
	Authenticate(r *http.Request) (user *User, ok bool, err error)
}

// AuthenticatorFunc adapts a function to an Authenticator.
type AuthenticatorFunc func(r *http.Request) (*User, bool, error)

// Authenticate calls f.
func (f AuthenticatorFunc) Authenticate(r *http.Request) (*User, bool, error) { return f(r) }

// FirstOf returns an Authenticator that tries each of list in turn and returns the first user found. An
// invalid credential ends the search, so that its sender is not treated as anonymous.
func FirstOf(list ...Authenticator) Authenticator {
	return AuthenticatorFunc(func(r *http.Request) (*User, bool, error) {
		for _, a := range list {
			user, ok, err := a.Authenticate(r)
			if ok || err != nil {
				return user, ok, err
			}
		}
		return nil, false, nil
	})
}

// InProcess authenticates as the user that WithUser put into the request's context. Headers and certificates
// of requests from the network cannot set it.
func InProcess() Authenticator {
	return AuthenticatorFunc(func(r *http.Request) (*User, bool, error) {
		user, ok := UserFrom(r.Context())
		return user, ok, nil
	})
}

// Anonymous authenticates requests without credentials as AnonymousName for the open paths (see PublicPaths)
// only. Elsewhere such requests have no user, and the server answers 401.
func Anonymous() Authenticator {
	anonymous := &User{Name: AnonymousName, Groups: []string{UnauthenticatedGroup}}
	return AuthenticatorFunc(func(r *http.Request) (*User, bool, error) {
		if !openPath(r.URL.Path) {
			return nil, false, nil
		}
		return anonymous, true, nil
	})
}
