package attacks

import (
	"fmt"
	"slices"
	"strings"
)

// comparisons is in the answers to strategic merge patches that compare too many list items.
const comparisons = "comparisons of list items"

// strategicPatches are strategic merge patches.
func strategicPatches() []row {
	return slices.Concat(strategicDirectives(), strategicLists(), strategicItems())
}

// withConfigMap creates the ConfigMap of strategic merge patches.
func withConfigMap() []request { return post(configMaps, configMap("a", `,"data":{"a":"b"},"zzz":1`)) }

// ofConfigMap is a strategic merge patch of the ConfigMap.
func ofConfigMap(body string) []request { return patch(configMaps+"/a", strategicType, body) }

// ofDeployment is a strategic merge patch of deployment.
func ofDeployment(body string) []request { return patch(deployments+"/d", strategicType, body) }

// withVariables creates deployment, whose container then has n variables.
func withVariables(n int) []request {
	return append(post(deployments, deployment), patch(deployments+"/d", jsonPatchType,
		`[{"op":"add","path":"/spec/template/spec/containers/0/env","value":[`+numbered(`{"name":"E%d","value":"x"}`, n)+`]}]`)...)
}

// env is a list of n variables.
func env(n int) string { return `"env":[` + numbered(`{"name":"E%d","value":"x"}`, n) + `]` }

// order is the order of n variables.
func order(n int) string { return `"$setElementOrder/env":[` + numbered(`{"name":"E%d"}`, n) + `]` }

// reversed returns 1,000 variables from the last one to the first.
func reversed() string {
	all := make([]string, 1_000)
	for i := range all {
		all[len(all)-1-i] = fmt.Sprintf(`{"name":"E%d","value":"y"}`, i)
	}
	return strings.Join(all, ",")
}

// strategicDirectives are patches of a ConfigMap with its finalizers and owners, and patches with wrong directives.
func strategicDirectives() []row {
	a, d := withConfigMap(), post(deployments, deployment)
	return []row{
		{name: "a replacement of the root", setup: a, send: ofConfigMap(`{"$patch":"replace"}`)},
		{name: "a deletion of the root", setup: a, send: ofConfigMap(`{"$patch":"delete"}`)},
		{name: "an unknown directive", setup: a, send: ofConfigMap(`{"$patch":"evil"}`), codes: []int{400, 422, 500}},
		{name: "an order that is an object", setup: a, send: ofConfigMap(`{"metadata":{"$setElementOrder/finalizers":{"a":1}}}`),
			codes: []int{200, 400, 422, 500}},
		{name: "retainKeys of unknown keys", setup: a, send: ofConfigMap(`{"$retainKeys":["x"],"data":{"$retainKeys":["a"]}}`),
			codes: []int{200, 400, 422}},
		{name: "1,000 owners on as many", setup: post(configMaps, `{"metadata":{"name":"a","finalizers":["x/y"],"ownerReferences":[`+
			numbered(`{"apiVersion":"v1","kind":"Node","name":"n","uid":"u%d"}`, 1_000)+`]}}`),
			send:  ofConfigMap(`{"metadata":{"ownerReferences":[` + numbered(`{"apiVersion":"v1","kind":"Node","name":"m","uid":"v%d"}`, 1_000) + `]}}`),
			codes: []int{200, 413}},
		{name: "a deletion directive with an object", setup: withVariables(1_000),
			send: ofDeployment(`{"$deleteFromPrimitiveList/spec":{"template":{"spec":{"containers":[` +
				repeated(`{"name":"c","env":[]}`, 1_000) + `]}}}}`), text: "must not contain objects"},
		{name: "an object as the name of a variable", setup: d,
			send: ofDeployment(ofContainer(`"env":[{"name":{}}],"$setElementOrder/env":[{"name":{}}]`)), codes: []int{400, 422}},
		{name: "10,000 finalizers merged", setup: a, send: ofConfigMap(`{"metadata":{"finalizers":[` + numbered(`"example.com/f%d"`, 10_000) + `]}}`),
			codes: []int{200, 413}},
		{name: "10,000 finalizers in their order", setup: a, send: ofConfigMap(`{"metadata":{"finalizers":[` + numbered(`"example.com/f%d"`, 10_000) +
			`],"$setElementOrder/finalizers":[` + numbered(`"example.com/f%d"`, 10_000) + `]}}`), codes: []int{200, 413}},
		{name: "10,000 finalizers on as many", setup: post(configMaps,
			`{"metadata":{"name":"a","finalizers":[`+numbered(`"example.com/f%d"`, 10_000)+`]}}`),
			send: ofConfigMap(`{"metadata":{"finalizers":[` + numbered(`"example.com/g%d"`, 10_000) + `]}}`), codes: []int{200, 413}},
		{name: "10,000 finalizers deleted of as many", setup: post(configMaps,
			`{"metadata":{"name":"a","finalizers":[`+numbered(`"example.com/f%d"`, 10_000)+`]}}`),
			send:  ofConfigMap(`{"metadata":{"$deleteFromPrimitiveList/finalizers":[` + numbered(`"example.com/f%d"`, 10_000) + `]}}`),
			codes: []int{200, 413}},
		{name: "2,000 owners on as many", setup: post(configMaps, `{"metadata":{"name":"a","finalizers":["x/y"],"ownerReferences":[`+
			numbered(`{"apiVersion":"v1","kind":"Node","name":"n","uid":"u%d"}`, 2_000)+`]}}`),
			send:  ofConfigMap(`{"metadata":{"ownerReferences":[` + numbered(`{"apiVersion":"v1","kind":"Node","name":"m","uid":"v%d"}`, 2_000) + `]}}`),
			codes: []int{200, 413}},
		{name: "9,900 levels in an unknown field", setup: a, send: ofConfigMap(`{"zzz":` + nested(`{"a":`, "1", "}", 9_900) + `}`),
			codes: []int{200, 400, 413}},
		{name: "19,000 nulls", setup: a, send: ofConfigMap(`{"data":{` + numbered(`"a%d":null`, 19_000) + `}}`), codes: []int{200}},
		{name: "a custom resource", setup: withThing("{}"), send: patch(things+"/a", strategicType, `{"free":1}`), codes: []int{415}},
	}
}

// strategicLists are patches of the list of variables of a Deployment.
func strategicLists() []row {
	d := post(deployments, deployment)
	return []row{
		{name: "10,000 variables of one name", setup: d,
			send: ofDeployment(ofContainer(`"env":[` + repeated(`{"name":"a","value":"b"}`, 10_000) + `]`)), codes: []int{200, 413}},
		{name: "an order of 20,000 variables of one name", setup: d,
			send: ofDeployment(ofContainer(`"$setElementOrder/env":[` + repeated(`{"name":"a"}`, 20_000) + `]`)), codes: []int{200}},
		{name: "20,000 variables in their order", setup: d, send: ofDeployment(ofContainer(env(20_000) + "," + order(20_000)))},
		{name: "1,500 variables", setup: d, send: ofDeployment(ofContainer(env(1_500))), codes: []int{200}},
		{name: "3,000 variables", setup: d, send: ofDeployment(ofContainer(env(3_000))), codes: []int{200}},
		{name: "1,100 variables on as many", setup: withVariables(1_100),
			send: ofDeployment(ofContainer(env(1_100) + "," + order(1_100))), codes: []int{200, 413}},
		{name: "2,200 variables in their order", setup: d, send: ofDeployment(ofContainer(env(2_200) + "," + order(2_200))),
			codes: []int{200, 413}},
		{name: "2,200 variables on as many", setup: withVariables(2_200),
			send: ofDeployment(ofContainer(env(2_200) + "," + order(2_200))), codes: []int{200, 413}},
		{name: "3,000 variables on as many", setup: withVariables(3_000), send: ofDeployment(ofContainer(env(3_000))), codes: []int{200, 413}},
		{name: "300 variables on 5,000", setup: withVariables(5_000), send: ofDeployment(ofContainer(env(300))), codes: []int{200, 413}},
		{name: "an order of 300 on 5,000", setup: withVariables(5_000), send: ofDeployment(ofContainer(order(300))), codes: []int{200, 413}},
		{name: "one variable on 5,000", setup: withVariables(5_000), send: ofDeployment(ofContainer(env(1))), text: comparisons},
		{name: "one variable on 1,400", setup: withVariables(1_400), send: ofDeployment(ofContainer(env(1))), codes: []int{200}},
		{name: "no variables on 5,000", setup: withVariables(5_000), send: ofDeployment(ofContainer(env(0))), text: comparisons},
		{name: "an empty order on 5,000", setup: withVariables(5_000), send: ofDeployment(ofContainer(order(0))), text: comparisons},
		{name: "an empty deletion on 5,000", setup: withVariables(5_000),
			send: ofDeployment(ofContainer(`"$deleteFromPrimitiveList/env":[]`)), text: comparisons},
		{name: "the reverse order of 700", setup: withVariables(700),
			send:  ofDeployment(ofContainer(`"$setElementOrder/env":[` + numbered(`{"name":"X%d"}`, 400) + "," + reversed() + `]`)),
			codes: []int{200}},
		{name: "1,000 variables on 900, reversed", setup: withVariables(900), send: ofDeployment(ofContainer(`"env":[` + reversed() + `]`)),
			codes: []int{200}},
		{name: "names of 4 KiB on 1,000 variables", setup: withVariables(1_000),
			send: ofDeployment(ofContainer(`"env":[` + numbered(`{"name":"`+strings.Repeat("x", 4096)+`%d"}`, 300) + `]`)), text: comparisons},
		{name: "deletions of 3,000 of 3,000 variables", setup: withVariables(3_000),
			send: ofDeployment(ofContainer(`"env":[` + numbered(`{"name":"E%d","$patch":"delete"}`, 3_000) + `]`)), codes: []int{200, 413}},
		{name: "100 lists of 300 variables", setup: d, send: ofDeployment(`{"spec":{"template":{"spec":{"containers":[` +
			numbered(`{"name":"c%d","image":"i",`+env(300)+`}`, 100) + `]}}}}`), codes: []int{200, 413}},
	}
}

// strategicItems are patches with many containers, or many items for one container.
func strategicItems() []row {
	d := post(deployments, deployment)
	return []row{
		{name: "1,500 containers with a variable", setup: d, send: ofDeployment(`{"spec":{"template":{"spec":{"containers":[` +
			numbered(`{"name":"c%d","image":"i","env":[{"name":"a","value":"b"}]}`, 1_500) + `]}}}}`), codes: []int{200, 413}},
		{name: "1,000 items for one container, each sorting its env", setup: withVariables(1_000),
			send: ofDeployment(ofPod(`"containers":[` + repeated(`{"name":"c","env":[]}`, 1_000) + `]`)), text: comparisons},
		{name: "1,000 items for one new container, each sorting its env", setup: d,
			send: ofDeployment(ofPod(`"containers":[{"name":"x","image":"i",` + env(1_000) + `},` + repeated(`{"name":"x","env":[]}`, 1_000) + `]`)),
			text: comparisons},
		{name: "two items whose key is null with 10,000 variables", setup: d, send: ofDeployment(ofPod(`"containers":[{"name":null,` +
			env(10_000) + `},{"name":null,` + env(10_000) + `}]`)), text: comparisons},
		{name: "3,000 containers with a variable", setup: d, send: ofDeployment(`{"spec":{"template":{"spec":{"containers":[` +
			numbered(`{"name":"c%d","image":"i","env":[{"name":"a","value":"b"}]}`, 3_000) + `]}}}}`), codes: []int{200, 413}},
		{name: "containers of 1 MB merged", setup: d, send: ofDeployment(`{"spec":{"template":{"spec":{"containers":[` +
			numbered(`{"name":"c%d","image":"`+strings.Repeat("i", 300)+`"}`, 3_000) + `]}}}}`), codes: []int{200, 413}},
	}
}
