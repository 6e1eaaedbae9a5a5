package auth

import "net/http"

// An Authenticator says who sends a request.
//
// ok is false when the request carries nothing that this Authenticator reads: another one may know. An error means
// that it does carry a credential of this sort, and that the credential is bad; the request is then refused (401).
// Authenticate is called concurrently, and the User it returns is shared: nobody changes it.
type Authenticator interface {
	Authenticate(r *http.Request) (user *User, ok bool, err error)
}

// AuthenticatorFunc is a function that is an Authenticator.
type AuthenticatorFunc func(r *http.Request) (*User, bool, error)

// Authenticate calls f.
func (f AuthenticatorFunc) Authenticate(r *http.Request) (*User, bool, error) { return f(r) }

// FirstOf asks each Authenticator in turn and takes the first that knows the sender. A bad credential ends the
// search: whoever shows a false passport is not let in as a stranger.
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

// InProcess takes the identity that WithUser put into the request's context. No header or certificate of a request
// that came over a socket can put it there.
func InProcess() Authenticator {
	return AuthenticatorFunc(func(r *http.Request) (*User, bool, error) {
		user, ok := UserFrom(r.Context())
		return user, ok, nil
	})
}

// Anonymous lets senders without any credential through as AnonymousName to the open paths (see PublicPaths), and to
// nothing else: elsewhere they are unknown, which the server answers with 401.
func Anonymous() Authenticator {
	nobody := &User{Name: AnonymousName, Groups: []string{UnauthenticatedGroup}}
	return AuthenticatorFunc(func(r *http.Request) (*User, bool, error) {
		if !openPath(r.URL.Path) {
			return nil, false, nil
		}
		return nobody, true, nil
	})
}
