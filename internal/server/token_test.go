package server_test

import (
	"crypto/ecdsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

const (
	accountsPath = "/api/v1/namespaces/default/serviceaccounts"
	robotToken   = accountsPath + "/robot/token"
	tokenIssuer  = "https://kubernetes.default.svc.cluster.local"
)

// createRobot creates the service account robot, and a pod, a secret and a node that its tokens are bound to.
func createRobot(t testing.TB, w *testPlane) types.UID {
	t.Helper()
	uid, _ := valueAt(w.create(t, accountsPath, `{"metadata":{"name":"robot"}}`), "metadata", "uid").(string)
	w.create(t, "/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	w.create(t, podsPath, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","serviceAccountName":"robot",
		"containers":[{"name":"c","image":"i"}]}}`)
	w.create(t, podsPath, `{"metadata":{"name":"other"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	w.create(t, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`)
	return types.UID(uid)
}

// tokenOf requests a token of robot with a spec.
func tokenOf(t testing.TB, w *testPlane, spec string) string {
	t.Helper()
	var answer authenticationv1.TokenRequest
	w.send(t, http.MethodPost, robotToken, `{"spec":{`+spec+`}}`).want(t, http.StatusCreated).into(t, &answer)
	return answer.Status.Token
}

// reviewOf reviews a token for some audiences.
func reviewOf(t testing.TB, w *testPlane, token string, audiences ...string) authenticationv1.TokenReviewStatus {
	t.Helper()
	review, err := w.clients.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status
}

// withToken sends a request to the plane's handler with a token as its only credential.
func withToken(w *testPlane, path, token string) *httptest.ResponseRecorder {
	r, recorder := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer "+token)
	w.Handler().ServeHTTP(recorder, r)
	return recorder
}

// TestCreateToken requests a token with unmodified client-go, in both formats, and uses it over a socket.
func TestCreateToken(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	uid := createRobot(t, w)
	for _, contentType := range []string{jsonType, protobufType} {
		before := time.Now().Truncate(time.Second)
		answer, err := typed(t, w.config, contentType).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot",
			&authenticationv1.TokenRequest{}, metav1.CreateOptions{FieldManager: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Name != "robot" || answer.Namespace != "default" || answer.UID != uid ||
			answer.CreationTimestamp.Time.Before(before) {
			t.Errorf("%s: metadata %+v", contentType, answer.ObjectMeta)
		}
		if spec := answer.Spec; *spec.ExpirationSeconds != 3600 || spec.BoundObjectRef != nil ||
			!slices.Equal(spec.Audiences, []string{tokenIssuer}) {
			t.Errorf("%s: spec %+v", contentType, spec)
		}
		if left := answer.Status.ExpirationTimestamp.Sub(before); left < time.Hour || left > time.Hour+time.Minute {
			t.Errorf("%s: the token expires in %v", contentType, left)
		}
		config := rest.CopyConfig(w.config)
		config.CertData, config.KeyData, config.BearerToken = nil, nil, answer.Status.Token
		robot := w.as(t, config)
		who, err := robot.clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
			&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		user := who.Status.UserInfo
		if user.Username != "system:serviceaccount:default:robot" || user.UID != string(uid) || !slices.Equal(user.Groups,
			[]string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}) {
			t.Errorf("%s: the user is %+v", contentType, user)
		}
		if id := user.Extra["authentication.kubernetes.io/credential-id"]; len(id) != 1 ||
			!strings.HasPrefix(id[0], "JTI=") {
			t.Errorf("%s: the credential ID is %v", contentType, id)
		}
		robot.get(t, configMaps).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
			`configmaps is forbidden: User "system:serviceaccount:default:robot" cannot list resource "configmaps" in API group `+
				`"" in the namespace "default"`)
		robot.get(t, "/openid/v1/jwks").want(t, http.StatusOK)
	}
}

// TestTokenAnswer checks the answer as it is sent, which has owners, and that of a dry run, which has a token too.
func TestTokenAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	revision := valueAt(w.get(t, configMaps).object(t), "metadata", "resourceVersion")
	for _, query := range []string{"", "?dryRun=All"} {
		answer := w.send(t, http.MethodPost, robotToken+query,
			`{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","metadata":{"namespace":"default"},
			"spec":{"expirationSeconds":700},"status":{"token":"mine"}}`, "User-Agent", "me").want(t,
			http.StatusCreated).object(t)
		if answer["kind"] != "TokenRequest" || answer["apiVersion"] != "authentication.k8s.io/v1" {
			t.Errorf("answer %v", answer)
		}
		spec, err := json.Marshal(answer["spec"])
		if want := `{"audiences":["` + tokenIssuer + `"],"boundObjectRef":null,"expirationSeconds":700}`; err != nil ||
			string(spec) != want {
			t.Errorf("spec %s, want %s (%v)", spec, want, err)
		}
		owners, _ := valueAt(answer, "metadata", "managedFields").([]any)
		if len(owners) != 1 || valueAt(owners[0].(map[string]any), "subresource") != "token" ||
			valueAt(owners[0].(map[string]any), "manager") != "me" {
			t.Errorf("owners %v", owners)
		}
		token, _ := valueAt(answer, "status", "token").(string)
		if s := reviewOf(t, w, token); !s.Authenticated {
			t.Errorf("the token %q%s is not valid: %+v", token, query, s)
		}
	}
	if now := valueAt(w.get(t, configMaps).object(t), "metadata", "resourceVersion"); now != revision {
		t.Error("the request for a token stored something")
	}
}

// TestTokenRequestErrors checks the errors of TokenREST (pkg/registry/core/serviceaccount/storage/token.go).
func TestTokenRequestErrors(t *testing.T) {
	t.Parallel()
	w := start(t)
	uid := createRobot(t, w)
	bind := func(kind, name, more string) string {
		return `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"` + kind + `","name":"` + name + `"` + more + `}}}`
	}
	for name, c := range map[string]struct {
		path, body string
		code       int
		reason     metav1.StatusReason
		message    string
	}{
		"no account": {accountsPath + "/nobody/token", `{}`, http.StatusNotFound, metav1.StatusReasonNotFound,
			`serviceaccounts "nobody" not found`},
		"another name": {robotToken, `{"metadata":{"name":"x"}}`, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified`},
		"another namespace": {robotToken, `{"metadata":{"namespace":"x"}}`, http.StatusBadRequest,
			metav1.StatusReasonBadRequest,
			`the namespace of the provided object does not match the namespace sent on the request`},
		"another UID": {robotToken, `{"metadata":{"uid":"x"}}`, http.StatusConflict, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (x) does not match the UID of the service account (` + string(uid) + `)`},
		"another kind": {robotToken, `{"kind":"Pod","apiVersion":"v1"}`, http.StatusBadRequest,
			metav1.StatusReasonBadRequest,
			`Pod in version "v1" cannot be handled as a TokenRequest: converting (v1.Pod) to (authentication.TokenRequest): unknown conversion`},
		"too short": {robotToken, `{"spec":{"expirationSeconds":599}}`, http.StatusUnprocessableEntity,
			metav1.StatusReasonInvalid,
			`TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`},
		"no pod":    {robotToken, bind("Pod", "x", ""), http.StatusNotFound, metav1.StatusReasonNotFound, `pods "x" not found`},
		"no node":   {robotToken, bind("Node", "x", ""), http.StatusNotFound, metav1.StatusReasonNotFound, `nodes "x" not found`},
		"no secret": {robotToken, bind("Secret", "x", ""), http.StatusNotFound, metav1.StatusReasonNotFound, `secrets "x" not found`},
		"no name of a pod": {robotToken, bind("Pod", "", ""), http.StatusBadRequest, metav1.StatusReasonBadRequest,
			`Name parameter required.`},
		"an invalid name": {robotToken, bind("Pod", "a/b", ""), http.StatusBadRequest, metav1.StatusReasonBadRequest,
			`Name parameter invalid: "a/b": may not contain '/'`},
		"a long name": {robotToken, bind("Pod", strings.Repeat("a", 1<<20), ""), http.StatusNotFound,
			metav1.StatusReasonNotFound, `aaa..." not found`},
		"a pod of another account": {robotToken, bind("Pod", "other", ""), http.StatusBadRequest,
			metav1.StatusReasonBadRequest,
			`cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.`},
		"another pod": {robotToken, bind("Pod", "p", `,"uid":"x"`), http.StatusConflict, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated`},
		"a config map": {robotToken, bind("ConfigMap", "c", ""), http.StatusBadRequest, metav1.StatusReasonBadRequest,
			`cannot bind token to object of type /v1, Kind=ConfigMap`},
		"a webhook": {robotToken, `{"spec":{"audiences":["a"],"boundObjectRef":{"name":"x",
			"kind":"MutatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1"},
			"attestations":{"admissionReviewAPIGroups":["*"]}}}`, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			`cannot bind token to object of type admissionregistration.k8s.io/v1, Kind=MutatingWebhookConfiguration (feature gate APIServerWebhookAuthenticationToken is disabled)`},
		"another version": {robotToken, `{"kind":"TokenRequest","apiVersion":"foo/v9"}`, http.StatusBadRequest,
			metav1.StatusReasonBadRequest,
			`TokenRequest in version "v9" cannot be handled as a TokenRequest: no kind "TokenRequest" is registered for version "foo/v9" in scheme "pkg/api/legacyscheme/scheme.go:30"`},
		"another version without a kind": {robotToken, `{"apiVersion":"v1"}`, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, `no kind "TokenRequest" is registered for version "v1" in scheme`},
		"a long version": {robotToken, `{"apiVersion":"v` + strings.Repeat("1", 1<<20) + `"}`, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, `no kind "TokenRequest" is registered for version`},
		"no JSON": {robotToken, `{"spec":1}`, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			`TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal number into Go struct field TokenRequest.spec of type v1.TokenRequestSpec`},
		"an unknown field": {robotToken + "?fieldValidation=Strict", `{"x":1}`, http.StatusBadRequest,
			metav1.StatusReasonBadRequest,
			`TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: unknown field "x"`},
		"audiences that make the token too long": {robotToken,
			`{"spec":{"audiences":["` + strings.Repeat("a", 32<<10) + `"]}}`, http.StatusUnprocessableEntity,
			metav1.StatusReasonInvalid,
			`TokenRequest.authentication.k8s.io "" is invalid: spec.audiences: Invalid value: the token would have `},
	} {
		s := w.send(t, http.MethodPost, c.path, c.body).wantError(t, c.code, c.reason, c.message)
		if len(s.Message) > 4<<10 {
			t.Errorf("%s: the message has %d bytes", name, len(s.Message))
		}
	}
	for _, body := range []string{`{"kind":"TokenRequest"}`, `{"apiVersion":"authentication.k8s.io/v1"}`,
		`{"kind":"","apiVersion":""}`, `{"spec":{"audiences":["` + strings.Repeat("a", 20<<10) + `"]}}`} {
		w.send(t, http.MethodPost, robotToken, body).want(t, http.StatusCreated)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		w.send(t, method, robotToken, `{}`).wantError(t, http.StatusMethodNotAllowed,
			metav1.StatusReasonMethodNotAllowed, "")
	}
}

// TestTokenReview checks for whom, and for which audiences, tokens are.
func TestTokenReview(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	ofServer, ofVault := tokenOf(t, w, ``), tokenOf(t, w, `"audiences":["vault","x"]`)
	for name, c := range map[string]struct {
		token     string
		audiences []string
		want      []string
		err       string
	}{
		"for the server":       {ofServer, nil, []string{tokenIssuer}, ""},
		"for the server named": {ofServer, []string{"a", tokenIssuer}, []string{tokenIssuer}, ""},
		"for vault":            {ofVault, []string{"vault"}, []string{"vault"}, ""},
		"for vault, asked for the server": {ofVault, nil, nil,
			`token audiences ["vault" "x"] is invalid for the target audiences ["` + tokenIssuer + `"]`},
		"for the server, asked for vault": {ofServer, []string{"vault"}, nil,
			`token audiences ["` + tokenIssuer + `"] is invalid for the target audiences ["vault"]`},
		"made up":        {"a.b.c", nil, nil, "invalid bearer token"},
		"a second word":  {ofServer + " x", nil, []string{tokenIssuer}, ""},
		"a space before": {" " + ofServer, nil, nil, ""},
	} {
		s := reviewOf(t, w, c.token, c.audiences...)
		if s.Authenticated != (c.want != nil) || !slices.Equal(s.Audiences, c.want) || s.Error != c.err ||
			(s.User.Username == "system:serviceaccount:default:robot") != s.Authenticated {
			t.Errorf("a token %s: %+v, want %q %q", name, s, c.want, c.err)
		}
	}
	if code := withToken(w, "/version", ofVault).Code; code != http.StatusUnauthorized {
		t.Errorf("a token for another audience: %d", code)
	}
}

// TestBoundTokens checks that a token names the object that it is bound to, and is invalid when that is deleted.
func TestBoundTokens(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	const prefix = "authentication.kubernetes.io/"
	for _, c := range []struct {
		kind, name, path string
		extra            []string
	}{
		{"Pod", "p", podsPath + "/p?gracePeriodSeconds=0", []string{"node-name", "node-uid", "pod-name", "pod-uid"}},
		{"Secret", "s", "/api/v1/namespaces/default/secrets/s", nil},
		{"Node", "n", "/api/v1/nodes/n", []string{"node-name", "node-uid"}},
		{"", "", accountsPath + "/robot", nil},
	} {
		spec := ``
		if c.kind != "" {
			spec = `"boundObjectRef":{"apiVersion":"v1","kind":"` + c.kind + `","name":"` + c.name + `"}`
		}
		token := tokenOf(t, w, spec)
		s := reviewOf(t, w, token)
		delete(s.User.Extra, prefix+"credential-id")
		var want []string
		for _, key := range c.extra {
			want = append(want, prefix+key)
		}
		if got := slices.Sorted(maps.Keys(s.User.Extra)); !s.Authenticated || !slices.Equal(got, want) {
			t.Errorf("a token of a %s: %+v, want %q", c.kind, s, want)
		}
		if code := withToken(w, "/version", token).Code; code != http.StatusOK {
			t.Errorf("a token of a %s: %d", c.kind, code)
		}
		w.send(t, http.MethodDelete, c.path, "").want(t, http.StatusOK)
		if s := reviewOf(t, w, token); s.Authenticated || s.Error == "" {
			t.Errorf("a token of a %s that was deleted: %+v", c.kind, s)
		}
		if code := withToken(w, "/version", token).Code; code != http.StatusUnauthorized {
			t.Errorf("a token of a %s that was deleted: %d", c.kind, code)
		}
	}
}

// TestTokensExpire also checks that the token that a kubelet requests for a pod lasts a year, although it says an hour.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		createRobot(t, w)
		const ofPod = `,"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"}`
		plain, extended, other := tokenOf(t, w, `"expirationSeconds":3607`),
			tokenOf(t, w, `"expirationSeconds":3607`+ofPod), tokenOf(t, w, `"expirationSeconds":3608`+ofPod)
		for _, c := range []struct {
			after           time.Duration
			plain, extended bool
		}{{time.Hour, true, true}, {2 * time.Minute, false, true}, {364 * 24 * time.Hour, false, true},
			{24 * time.Hour, false, false}} {
			time.Sleep(c.after)
			for token, want := range map[string]bool{plain: c.plain, other: c.plain, extended: c.extended} {
				if s := reviewOf(t, w, token); s.Authenticated != want {
					t.Errorf("%v later: %+v", c.after, s)
				}
			}
		}
	})
}

// TestTokenOfEarlierAccount checks that an account that was created again does not inherit the tokens of the first one.
func TestTokenOfEarlierAccount(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	token := tokenOf(t, w, ``)
	w.send(t, http.MethodDelete, accountsPath+"/robot", "").want(t, http.StatusOK)
	w.create(t, accountsPath, `{"metadata":{"name":"robot"}}`)
	if s := reviewOf(t, w, token); s.Authenticated || !strings.Contains(s.Error, "does not match claim") {
		t.Errorf("review %+v", s)
	}
}

// TestForkAcceptsTokens checks that a fork, also of a fork, accepts the tokens of its plane, and not the reverse.
func TestForkAcceptsTokens(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	token := tokenOf(t, w, ``)
	fork := must(w.Fork(t.Context()))(t)
	defer fork.Close()
	second := must(fork.Fork(t.Context()))(t)
	defer second.Close()
	for _, plane := range []*bowline.Plane{fork, second} {
		if code := withToken(&testPlane{Plane: plane}, "/version", token).Code; code != http.StatusOK {
			t.Errorf("the fork answers %d", code)
		}
		forked, err := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ServiceAccounts("default").CreateToken(
			t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if code := withToken(&testPlane{Plane: plane}, "/version", forked.Status.Token).Code; code != http.StatusOK {
			t.Errorf("the fork answers its own token with %d", code)
		}
		if code := withToken(w, "/version", forked.Status.Token).Code; code != http.StatusUnauthorized {
			t.Errorf("the plane answers the token of a fork with %d", code)
		}
	}
	if code := withToken(start(t), "/version", token).Code; code != http.StatusUnauthorized {
		t.Errorf("another plane answers %d", code)
	}
}

// TestTokensAreAdmitted checks that policies see the request for a token, as the create of a subresource.
func TestTokensAreAdmitted(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	enact(t, w, "short", `"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],
		"operations":["CREATE"],"resources":["serviceaccounts/token"]}]},`+
		validate("object.spec.expirationSeconds <= 3600 && request.name == 'robot'"), ``)
	tokenOf(t, w, ``)
	w.send(t, http.MethodPost, robotToken, `{"spec":{"expirationSeconds":7200}}`).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "expirationSeconds <= 3600")
}

// TestOpenIDPaths checks who reads the documents that verify tokens.
func TestOpenIDPaths(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRobot(t, w)
	token := tokenOf(t, w, ``)
	for path, mediaType := range map[string]string{
		"/.well-known/openid-configuration": jsonType, "/openid/v1/jwks": "application/jwk-set+json",
	} {
		r := w.get(t, path).want(t, http.StatusOK)
		if got := r.header.Get("Content-Type"); got != mediaType || !json.Valid(r.body) {
			t.Errorf("%s: %s %s", path, got, r.body)
		}
		if code := withToken(w, path, token).Code; code != http.StatusOK {
			t.Errorf("%s: a service account receives %d", path, code)
		}
		if !strings.Contains(string(w.get(t, "/").body), `"`+path+`"`) {
			t.Errorf("the index does not list %s", path)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			w.send(t, method, path, "").wantError(t, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				"the server does not allow this method on the requested resource")
		}
		w.send(t, http.MethodHead, path, "").want(t, http.StatusMethodNotAllowed)
	}
}

// TestInvalidTokenKey checks that a plane does not start with a key that cannot sign.
func TestInvalidTokenKey(t *testing.T) {
	t.Parallel()
	if _, err := bowline.Start(t.Context(), bowline.Options{TokenKey: &ecdsa.PrivateKey{}}); err == nil ||
		!strings.Contains(err.Error(), "invalid Options.TokenKey") {
		t.Errorf("got the error %v", err)
	}
}
