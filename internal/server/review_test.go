package server_test

import (
	"net/http"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	accessReviews      = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	localAccessReviews = "/apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews"
	tokenReviews       = "/apis/authentication.k8s.io/v1/tokenreviews"
)

// TestAccessReviews checks with unmodified client-go that access reviews agree with the authorization of requests.
func TestAccessReviews(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	somebody := admin.as(t, must(admin.IssueClient("somebody", "a-group"))(t))
	list := authorizationv1.ResourceAttributes{Verb: "list", Resource: "configmaps", Namespace: "default"}
	for name, c := range map[string]struct {
		w    *testPlane
		want bool
	}{"an administrator": {admin, true}, "another user": {somebody, false}} {
		review, err := c.w.clients.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &list}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s := review.Status; s.Allowed != c.want || s.Denied {
			t.Errorf("%s may list config maps: %+v, want allowed %v", name, s, c.want)
		}
	}
	reviews := admin.clients.AuthorizationV1().SubjectAccessReviews()
	for _, c := range []struct {
		spec authorizationv1.SubjectAccessReviewSpec
		want bool
	}{
		{authorizationv1.SubjectAccessReviewSpec{User: "jane", ResourceAttributes: &list}, false},
		{authorizationv1.SubjectAccessReviewSpec{User: "jane", Groups: []string{"system:masters"},
			ResourceAttributes: &list}, true},
		{authorizationv1.SubjectAccessReviewSpec{User: "jane", Groups: []string{"system:authenticated"},
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/api"}}, true},
		{authorizationv1.SubjectAccessReviewSpec{User: "jane",
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/api"}}, false},
	} {
		review, err := reviews.Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: c.spec},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != c.want || review.UID != "" || review.ResourceVersion != "" {
			t.Errorf("review of %+v: %+v, want allowed %v without a uid", c.spec, review, c.want)
		}
	}
}

// TestReviewsOfSelf checks what kubectl auth whoami and kubectl auth can-i --list ask.
func TestReviewsOfSelf(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	somebody := admin.as(t, must(admin.IssueClient("somebody", "a-group"))(t))
	who, err := somebody.clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if u := who.Status.UserInfo; u.Username != "somebody" || !slices.Contains(u.Groups, "a-group") ||
		!slices.Contains(u.Groups, "system:authenticated") || who.CreationTimestamp.IsZero() {
		t.Errorf("who am I: %+v", who)
	}
	rules := func(w *testPlane) authorizationv1.SubjectRulesReviewStatus {
		t.Helper()
		review, err := w.clients.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{
				Namespace: "default"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status
	}
	everything := func(r authorizationv1.ResourceRule) bool {
		return slices.Equal(r.Verbs, []string{"*"}) && slices.Equal(r.APIGroups, []string{"*"}) &&
			slices.Equal(r.Resources, []string{"*"})
	}
	if s := rules(admin); s.Incomplete || !slices.ContainsFunc(s.ResourceRules, everything) {
		t.Errorf("rules of an administrator: %+v", s)
	}
	if s := rules(somebody); s.Incomplete || slices.ContainsFunc(s.ResourceRules, everything) ||
		len(s.ResourceRules) != 2 || len(s.NonResourceRules) != 2 {
		t.Errorf("rules of another user: %+v", s)
	}
}

// TestReviewErrors checks the rules of ValidateSubjectAccessReview (pkg/apis/authorization/validation) and the answers
// that Kubernetes gives outside of validation.
func TestReviewErrors(t *testing.T) {
	t.Parallel()
	w := start(t)
	const resource = `"resourceAttributes":{"namespace":"nowhere","verb":"list","resource":"configmaps"`
	for _, c := range []struct {
		name, path, body string
		code             int
		message          string
	}{
		{"no action", accessReviews, `{"spec":{"user":"jane"}}`, http.StatusUnprocessableEntity,
			`.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified`},
		{"no user", accessReviews, `{"spec":{` + resource + `}}}`, http.StatusUnprocessableEntity,
			`spec.user: Invalid value: "": at least one of user or group must be specified`},
		{"a name", accessReviews, `{"metadata":{"name":"a"},"spec":{"user":"jane",` + resource + `}}}`,
			http.StatusUnprocessableEntity, `must be empty`},
		{"two selectors", accessReviews, `{"spec":{"user":"jane",` + resource +
			`,"labelSelector":{"rawSelector":"a","requirements":[{"key":"a","operator":"Exists"}]}}}}`,
			http.StatusUnprocessableEntity,
			`spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements`},
		{"an empty selector", accessReviews, `{"spec":{"user":"jane",` + resource + `,"fieldSelector":{}}}}`,
			http.StatusUnprocessableEntity,
			`spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required`},
		{"another namespace", localAccessReviews,
			`{"spec":{"user":"jane","resourceAttributes":{"namespace":"other","verb":"get","resource":"pods"}}}`,
			http.StatusUnprocessableEntity,
			`spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace`},
		{"a path in a namespace", localAccessReviews,
			`{"spec":{"user":"jane","nonResourceAttributes":{"path":"/","verb":"get"}}}`,
			http.StatusUnprocessableEntity, `disallowed on this kind of request`},
		{"no token", tokenReviews, `{}`, http.StatusBadRequest, `token is required for TokenReview in authentication`},
		{"rules of no namespace", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{}`,
			http.StatusBadRequest, `no namespace on request`},
	} {
		t.Run(c.name, func(t *testing.T) {
			reason := metav1.StatusReasonInvalid
			if c.code == http.StatusBadRequest {
				reason = metav1.StatusReasonBadRequest
			}
			w.send(t, http.MethodPost, c.path, c.body).wantError(t, c.code, reason, c.message)
		})
	}
	for _, c := range []struct{ name, path, body, want string }{
		{"an unknown operator", accessReviews, `{"spec":{"user":"jane",` + resource +
			`,"labelSelector":{"requirements":[{"key":"a","operator":"Near"},{"key":"b","operator":"Exists"}]}}}}`,
			"spec.resourceAttributes.labelSelector partially ignored due to parse error"},
		{"two values of a field", accessReviews, `{"spec":{"user":"jane",` + resource +
			`,"fieldSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]}]}}}}`,
			"spec.resourceAttributes.fieldSelector ignored due to parse error"},
		{"a namespace that does not exist", localAccessReviews, `{"spec":{"user":"jane",` + resource + `}}}`, ""},
	} {
		r := w.send(t, http.MethodPost, c.path, c.body)
		r.want(t, http.StatusCreated)
		var review authorizationv1.SubjectAccessReview
		r.into(t, &review)
		if review.Status.EvaluationError != c.want {
			t.Errorf("%s: evaluation error %q, want %q", c.name, review.Status.EvaluationError, c.want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		w.send(t, method, accessReviews, `{}`).wantError(t, http.StatusMethodNotAllowed,
			metav1.StatusReasonMethodNotAllowed, "")
	}
}

// TestReviewsIgnoreWhatTheServerSets checks that a client cannot answer its own question, that metadata of the server
// is no error, and that reviews have no initializers: they are answered, not stored.
func TestReviewsIgnoreWhatTheServerSets(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, initializersPath, `{"metadata":{"name":"all"},"initializers":[{"name":"a.example.com",
		"rules":[{"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}]}`)
	var token authenticationv1.TokenReview
	w.send(t, http.MethodPost, tokenReviews, `{"spec":{"token":"x"},"status":{"authenticated":true,
		"user":{"username":"admin","groups":["system:masters"]}}}`).want(t, http.StatusCreated).into(t, &token)
	if s := token.Status; s.Authenticated || s.User.Username != "" || s.Error != "invalid bearer token" {
		t.Errorf("status of a token that is not valid: %+v", s)
	}
	r := w.send(t, http.MethodPost, accessReviews, `{"metadata":{"uid":"a","creationTimestamp":"2026-01-01T00:00:00Z"},
		"spec":{"user":"jane","nonResourceAttributes":{"path":"/api","verb":"get"}},"status":{"allowed":true}}`)
	var access authorizationv1.SubjectAccessReview
	r.want(t, http.StatusCreated).into(t, &access)
	if access.Status.Allowed || access.UID != "" {
		t.Errorf("review: %+v", access)
	}
}
