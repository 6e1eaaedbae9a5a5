package declare_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
)

func TestReadinessFollowsConditions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text       string
		controlled bool
		want       declare.Readiness
	}{
		"plain object": {`{kind: ConfigMap}`, false, declare.Readiness{Ready: true, State: "stored"}},
		"definition not served yet": {`{kind: CustomResourceDefinition}`, false,
			declare.Readiness{State: "Established", Reason: "no controller has reconciled it yet"}},
		"definition": {`{kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`,
			false, declare.Readiness{Ready: true, State: "Established"}},
		"a deployment without simulated nodes": {`{kind: Deployment}`, false,
			declare.Readiness{Ready: true, State: "stored"}},
		"a deployment whose pods do not run": {`{kind: Deployment, status: {conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable}]}}`,
			true, declare.Readiness{State: "Available", Reason: "MinimumReplicasUnavailable"}},
		"a deployment whose pods run": {`{kind: Deployment, status: {conditions: [{type: Available, status: "True"}]}}`,
			true, declare.Readiness{Ready: true, State: "Available"}},
		"controlled, without status": {`{kind: Network}`, true,
			declare.Readiness{State: "Ready", Reason: "no controller has reconciled it yet"}},
		"controlled and ready": {`{kind: Network, status: {conditions: [{type: Ready, status: "True"}]}}`, true,
			declare.Readiness{Ready: true, State: "Ready"}},
		"uncontrolled, with the condition": {`{kind: Other, status: {conditions: [{type: Ready, status: "False", reason: Broken}]}}`, false,
			declare.Readiness{State: "Ready", Reason: "Broken"}},
		"not ready": {`{kind: Network, status: {conditions: [{type: Ready, status: "False", reason: InvalidSpec, message: no gateway}]}}`, true,
			declare.Readiness{State: "Ready", Reason: "InvalidSpec: no gateway"}},
		"condition of an older generation": {`{kind: Network, metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`,
			true, declare.Readiness{State: "Ready", Reason: "its latest change is not reconciled yet"}},
		"status of an older generation": {`{kind: Network, metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
			true, declare.Readiness{State: "Ready", Reason: "its latest change is not reconciled yet"}},
		"status of this generation": {`{kind: Network, metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`,
			true, declare.Readiness{Ready: true, State: "Ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON([]byte(test.text))
			if err == nil {
				err = object.UnmarshalJSON(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := declare.ReadinessOf(object, test.controlled); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
