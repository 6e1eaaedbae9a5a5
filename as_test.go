package bowline_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

// grant creates a ClusterRole with a rule, and a binding that grants it.
func grant(t *testing.T, admin kubernetes.Interface, name string, rule rbacv1.PolicyRule, to rbacv1.Subject) {
	t.Helper()
	_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{to},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// listMaps lists ConfigMaps with a client.
func listMaps(t *testing.T, config *rest.Config) error {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	return err
}

var readMaps = rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}

func TestAsHasTheRightsOfTheUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, admin := startPlane(t, bowline.Options{})
		users := map[string]func() *rest.Config{
			"User":           func() *rest.Config { return plane.As("jane") },
			"Group":          func() *rest.Config { return plane.As("bob", "devs") },
			"ServiceAccount": func() *rest.Config { return plane.AsServiceAccount("default", "robot") },
		}
		for kind, config := range users {
			if err := listMaps(t, config()); !apierrors.IsForbidden(err) {
				t.Errorf("%s without a role: got %v, want Forbidden", kind, err)
			}
		}
		grant(t, admin, "jane", readMaps, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"})
		grant(t, admin, "devs", readMaps, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "devs"})
		grant(t, admin, "robot", readMaps, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: "robot"})
		for kind, config := range users {
			if err := listMaps(t, config()); err != nil {
				t.Errorf("%s with a role: %v", kind, err)
			}
		}
		if err := listMaps(t, plane.As("bob", "ops")); !apierrors.IsForbidden(err) {
			t.Errorf("another group: got %v, want Forbidden", err)
		}
		if err := listMaps(t, plane.As("root", "system:masters")); err != nil {
			t.Errorf("an administrator: %v", err)
		}
	})
}

func TestAsIdentifiesTheUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, _ := startPlane(t, bowline.Options{})
		for _, c := range []struct {
			config *rest.Config
			name   string
			groups []string
		}{
			{plane.As("jane", "devs"), "jane", []string{"devs", "system:authenticated"}},
			{plane.AsServiceAccount("team", "robot"), "system:serviceaccount:team:robot",
				[]string{"system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"}},
		} {
			review, err := kubernetes.NewForConfigOrDie(c.config).AuthenticationV1().SelfSubjectReviews().Create(
				t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if user := review.Status.UserInfo; user.Username != c.name || !slices.Equal(user.Groups, c.groups) {
				t.Errorf("got %s in %v, want %s in %v", user.Username, user.Groups, c.name, c.groups)
			}
		}
	})
}

// TestAsCannotGainRights checks that nothing that a client sends changes its user.
func TestAsCannotGainRights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, admin := startPlane(t, bowline.Options{})
		impersonating := func(by *rest.Config, name string, groups ...string) *rest.Config {
			by.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
			return by
		}
		token := plane.As("jane")
		token.BearerToken = "nonsense"
		headers := plane.As("jane")
		headers.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(q *http.Request) (*http.Response, error) {
				q = q.Clone(q.Context())
				q.Header.Set("X-Remote-User", "root")
				q.Header.Set("X-Remote-Group", "system:masters")
				return next.RoundTrip(q)
			})
		})
		for what, config := range map[string]*rest.Config{
			"a user":      impersonating(plane.As("jane"), "bowline-admin", "system:masters"),
			"a group":     impersonating(plane.As("jane"), "jane", "system:masters"),
			"a token":     token,
			"the headers": headers,
		} {
			if err := listMaps(t, config); !apierrors.IsForbidden(err) {
				t.Errorf("with %s: got %v, want Forbidden", what, err)
			}
		}
		if err := listMaps(t, plane.As("")); !apierrors.IsUnauthorized(err) {
			t.Errorf("without a name: got %v, want Unauthorized", err)
		}

		jane := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}
		grant(t, admin, "act-as-bob", rbacv1.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""},
			Resources: []string{"users"}, ResourceNames: []string{"bob"}}, jane)
		grant(t, admin, "bob", readMaps, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "bob"})
		if err := listMaps(t, impersonating(plane.As("jane"), "bob")); err != nil {
			t.Errorf("with the right to impersonate bob: %v", err)
		}
		if err := listMaps(t, impersonating(plane.As("jane"), "bowline-admin")); !apierrors.IsForbidden(err) {
			t.Errorf("with the right to impersonate bob only: got %v, want Forbidden", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }
