package authentication

import (
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/yaml"
)

// TestTokenRequestRules checks the rules of ValidateTokenRequest (pkg/apis/authentication/validation).
func TestTokenRequestRules(t *testing.T) {
	t.Parallel()
	const (
		hook   = `"boundObjectRef":{"kind":"MutatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1"}`
		toHook = `"audiences":["a"],` + hook
	)
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"nothing":            {``, nil},
		"shortest":           {`"expirationSeconds":600`, nil},
		"longest":            {`"expirationSeconds":4294967296`, nil},
		"too short":          {`"expirationSeconds":599`, []string{`spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`}},
		"negative":           {`"expirationSeconds":-1`, []string{`spec.expirationSeconds: Invalid value: -1: may not specify a duration less than 10 minutes`}},
		"too long":           {`"expirationSeconds":4294967297`, []string{`spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`}},
		"attests unasked":    {`"expirationSeconds":1,"attestations":{"a":["b"]}`, []string{`spec.attestations: Invalid value: {"a":["b"]}: attestations may only be specified with a webhook bound object reference`}},
		"for a hook":         {toHook + `,"attestations":{"admissionReviewAPIGroups":["apps"]}`, nil},
		"of all groups":      {toHook + `,"attestations":{"admissionReviewAPIGroups":["*"]}`, nil},
		"without audience":   {hook + `,"attestations":{"admissionReviewAPIGroups":["*"]}`, []string{`spec.audiences: Invalid value: null: must be length 1 when bound to a webhook config`}},
		"without a group":    {toHook, []string{`spec.attestations: Invalid value: null: webhook bound requests require exactly one admissionReviewAPIGroups attestation`}},
		"another key":        {toHook + `,"attestations":{"x":["*"]}`, []string{`spec.attestations[x]: Unsupported value: "x": supported values: "admissionReviewAPIGroups"`}},
		"two groups":         {toHook + `,"attestations":{"admissionReviewAPIGroups":["a","b"]}`, []string{`spec.attestations[admissionReviewAPIGroups]: Invalid value: ["a","b"]: must specify a single value`}},
		"the core group":     {toHook + `,"attestations":{"admissionReviewAPIGroups":[""]}`, []string{`spec.attestations[admissionReviewAPIGroups][0]: Invalid value: "": may not be an empty string`}},
		"no name of a group": {toHook + `,"attestations":{"admissionReviewAPIGroups":["A"]}`, []string{`spec.attestations[admissionReviewAPIGroups][0]: Invalid value: "A": must specify a valid API Group: a lowercase RFC 1123 subdomain`}},
	} {
		var request authenticationv1.TokenRequest
		if err := yaml.UnmarshalStrict([]byte(`{"spec":{`+test.spec+`}}`), &request); err != nil {
			t.Fatal(err)
		}
		DefaultTokenRequest(&request)
		errs := ValidateTokenRequest(&request)
		if len(errs) != len(test.want) {
			t.Errorf("%s: got %v, want %q", name, errs, test.want)
			continue
		}
		for i, err := range errs {
			if !strings.HasPrefix(err.Error(), test.want[i]) {
				t.Errorf("%s: got  %v\nwant %s", name, err, test.want[i])
			}
		}
	}
}

func TestTokensLastAnHourByDefault(t *testing.T) {
	t.Parallel()
	var request authenticationv1.TokenRequest
	DefaultTokenRequest(&request)
	if seconds := *request.Spec.ExpirationSeconds; seconds != 3600 {
		t.Errorf("got %d seconds", seconds)
	}
}
