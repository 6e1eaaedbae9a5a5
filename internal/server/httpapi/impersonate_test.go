package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/auth"
)

// A request that is forwarded to another server has the impersonated user, and not the headers that name it.
func TestImpersonationRemovesItsHeaders(t *testing.T) {
	t.Parallel()
	h := New(Options{Authorizer: auth.Admins(), Log: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest(http.MethodGet, "/apis/example.com/v1/things", nil)
	r.Header = http.Header{"Impersonate-User": {"jane"}, "impersonate-group": {"a", "b"}, "Impersonate-Extra-X": {"y"},
		"Accept": {"application/json"}}
	x := newExchange(httptest.NewRecorder(), r)
	user, err := h.impersonate(x, auth.NewUser("root", auth.AdminGroup))
	if err != nil || user.Name != "jane" || !user.In("a") || !user.In("b") || user.In(auth.AdminGroup) {
		t.Errorf("the user is %+v, %v", user, err)
	}
	if len(x.r.Header) != 1 || x.r.Header.Get("Accept") == "" || len(r.Header) != 4 {
		t.Errorf("the request has the headers %v, and its caller %v", x.r.Header, r.Header)
	}
}

// A user is in each group once, in the order of the headers.
func TestImpersonationDropsRepeatedGroups(t *testing.T) {
	t.Parallel()
	headers := http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"b", "a", "b", "b", "c", "a"},
		"impersonate-group": {"c", "d"}}
	user, _, err := wantedUser(headers)
	if want := []string{"b", "a", "c", "d"}; err != nil || !slices.Equal(user.Groups, want) {
		t.Errorf("got %+v %v, want the groups %v", user, err, want)
	}
	if got := headers["Impersonate-Group"]; len(got) != 6 || got[2] != "b" {
		t.Errorf("the headers of the caller have changed: %v", got)
	}
}

// FuzzImpersonation checks that a user without rights never acts as another, and that no part of the identity remains
// in the headers of a request that an administrator sends as another user.
func FuzzImpersonation(f *testing.F) {
	f.Add("Impersonate-User", "jane", "Impersonate-Group", "system:masters")
	f.Add("impersonate-USER", "system:node:a", "Impersonate-Uid", "\x00")
	f.Add("Impersonate-User", "system:serviceaccount:a:b", "Impersonate-Extra-%2f%zz", "c")
	f.Add("Impersonate-Extra-", "", "Impersonate-", "")
	nobody := auth.AuthorizerFunc(func(context.Context, auth.Attributes) (auth.Decision, string, error) {
		return auth.NoOpinion, "", nil
	})
	f.Fuzz(func(t *testing.T, first, firstValue, second, secondValue string) {
		send := func(by auth.Authorizer, sender *auth.User) (*auth.User, http.Header, error) {
			r := httptest.NewRequest(http.MethodGet, "/version", nil)
			r.Header = http.Header{first: {firstValue}, second: {secondValue}}
			x := newExchange(httptest.NewRecorder(), r)
			user, err := New(Options{Authorizer: by, Log: slog.New(slog.DiscardHandler)}).impersonate(x, sender)
			return user, x.r.Header, err
		}
		bob := auth.NewUser("bob")
		if user, _, err := send(nobody, bob); err == nil && user != bob {
			t.Errorf("bob acts as %+v", user)
		}
		root := auth.NewUser("root", auth.AdminGroup)
		user, rest, err := send(auth.Admins(), root)
		if err != nil || user == root {
			return
		}
		if user.Name == "" || user.In(auth.UnauthenticatedGroup) == user.In(auth.AuthenticatedGroup) &&
			firstValue != auth.UnauthenticatedGroup && secondValue != auth.UnauthenticatedGroup &&
			firstValue != auth.AuthenticatedGroup && secondValue != auth.AuthenticatedGroup {
			t.Errorf("root acts as %+v", user)
		}
		for name := range rest {
			switch lower := strings.ToLower(name); {
			case lower == "impersonate-user", lower == "impersonate-group", lower == "impersonate-uid",
				strings.HasPrefix(lower, "impersonate-extra-"):
				t.Errorf("the header %q remains", name)
			}
		}
	})
}
