package declare_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
)

func TestTruthFollowsConditions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text       string
		controlled bool
		want       declare.Truth
	}{
		"plain object": {`{kind: ConfigMap}`, false, declare.Truth{True: true, What: "stored"}},
		"definition not served yet": {`{kind: CustomResourceDefinition}`, false,
			declare.Truth{What: "Established", Why: "no controller has looked at it yet"}},
		"definition": {`{kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`,
			false, declare.Truth{True: true, What: "Established"}},
		"a deployment whose pods nobody runs": {`{kind: Deployment}`, false, declare.Truth{True: true, What: "stored"}},
		"a deployment whose pods do not run": {`{kind: Deployment, status: {conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable}]}}`,
			true, declare.Truth{What: "Available", Why: "MinimumReplicasUnavailable"}},
		"a deployment whose pods run": {`{kind: Deployment, status: {conditions: [{type: Available, status: "True"}]}}`,
			true, declare.Truth{True: true, What: "Available"}},
		"controlled, not seen yet": {`{kind: Network}`, true,
			declare.Truth{What: "Ready", Why: "no controller has looked at it yet"}},
		"controlled and ready": {`{kind: Network, status: {conditions: [{type: Ready, status: "True"}]}}`, true,
			declare.Truth{True: true, What: "Ready"}},
		"has the condition, nobody known for it": {`{kind: Other, status: {conditions: [{type: Ready, status: "False", reason: Broken}]}}`, false,
			declare.Truth{What: "Ready", Why: "Broken"}},
		"not ready": {`{kind: Network, status: {conditions: [{type: Ready, status: "False", reason: InvalidSpec, message: no gateway}]}}`, true,
			declare.Truth{What: "Ready", Why: "InvalidSpec: no gateway"}},
		"condition of an older generation": {`{kind: Network, metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`,
			true, declare.Truth{What: "Ready", Why: "its latest change is not seen yet"}},
		"status of an older generation": {`{kind: Network, metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
			true, declare.Truth{What: "Ready", Why: "its latest change is not seen yet"}},
		"status of this generation": {`{kind: Network, metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`,
			true, declare.Truth{True: true, What: "Ready"}},
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
			if got := declare.TruthOf(object, test.controlled); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
