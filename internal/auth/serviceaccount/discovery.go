package serviceaccount

import (
	"context"
	"strings"

	"github.com/bowline-dev/bowline/internal/auth"
)

// IssuerDiscovery allows service accounts to read the documents with which tokens are verified. These are the rules of
// the Kubernetes role system:service-account-issuer-discovery.
func IssuerDiscovery() auth.Authorizer { return issuerDiscovery{} }

type issuerDiscovery struct{}

func (issuerDiscovery) Authorize(_ context.Context, a auth.Attributes) (auth.Decision, string, error) {
	path := strings.TrimSuffix(a.Path, "/")
	if !a.IsResource && a.Verb == "get" && (path == ConfigurationPath || path == KeysPath) && a.User != nil &&
		a.User.In(accountsGroup) {
		return auth.Allow, "", nil
	}
	return auth.NoOpinion, "", nil
}

// RulesFor implements auth.RuleLister.
func (issuerDiscovery) RulesFor(_ context.Context, user *auth.User, _ string) (auth.Rules, error) {
	if !user.In(accountsGroup) {
		return auth.Rules{}, nil
	}
	return auth.Rules{Paths: []auth.PathRule{{
		Verbs: []string{"get"},
		Paths: []string{ConfigurationPath, ConfigurationPath + "/", KeysPath, KeysPath + "/"},
	}}}, nil
}
