package policy

import (
	"encoding/json"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestEmptySelectorConversion checks the conversion of empty selectors, which select nothing in
// policy/v1beta1 and everything in policy/v1.
func TestEmptySelectorConversion(t *testing.T) {
	t.Parallel()
	k := budgetKind(object.NewCache(1 << 20))
	const marked = `{"matchExpressions":[{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match","operator":`
	for old, hub := range map[string]string{
		``:                                  ``,
		`{}`:                                marked + `"Exists"}]}`,
		marked + `"DoesNotExist"}]}`:        `{}`,
		`{"matchLabels":{"app":"web"}}`:     `{"matchLabels":{"app":"web"}}`,
		`{"matchLabels":{"app":"unusual"}}`: `{"matchLabels":{"app":"unusual"}}`,
	} {
		body := `{"metadata":{"name":"b"},"spec":{"minAvailable":1}}`
		if old != "" {
			body = `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":` + old + `}}`
		}
		obj, strict, err := k.DecodeRequest(object.Form{APIVersion: "policy/v1beta1", Format: object.JSON},
			[]byte(body), false)
		if err != nil || len(strict) > 0 {
			t.Fatal(err, strict)
		}
		if got := selector(t, obj.(*policyv1.PodDisruptionBudget)); got != hub {
			t.Errorf("%s is %s in policy/v1, want %s", old, got, hub)
		}
		data, err := k.Encode(object.Form{APIVersion: "policy/v1beta1", Format: object.JSON}, obj)
		if err != nil {
			t.Fatal(err)
		}
		var back struct {
			APIVersion string
			Spec       struct{ Selector json.RawMessage }
		}
		if err := json.Unmarshal(data, &back); err != nil || back.APIVersion != "policy/v1beta1" ||
			string(back.Spec.Selector) != old {
			t.Errorf("%s comes back as %s", old, data)
		}
	}
}

func selector(t *testing.T, b *policyv1.PodDisruptionBudget) string {
	if b.Spec.Selector == nil {
		return ""
	}
	data, err := json.Marshal(b.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOldVersionIsDeprecated(t *testing.T) {
	t.Parallel()
	e := budgetKind(object.NewCache(1 << 20)).Info().Endpoints[1]
	if !strings.HasPrefix(e.Deprecated,
		"policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1") {
		t.Errorf("the old version's deprecation is %q", e.Deprecated)
	}
}
