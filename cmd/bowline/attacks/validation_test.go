package attacks

import (
	"fmt"
	"strings"
)

// notListed is in the answers to objects with too many causes to list.
const notListed = "more errors are not listed"

// validationErrors are objects with many invalid fields.
func validationErrors() []row {
	owners := func(n int) []request {
		return post(configMaps, `{"metadata":{"name":"own","ownerReferences":[`+repeated("{}", n)+`]}}`)
	}
	pod := func(spec string) []request { return post(pods, `{"metadata":{"name":"p"},"spec":{`+spec+`}}`) }
	const container = `"containers":[{"name":"c","image":"i"`
	return []row{
		{name: "1,000 wrong owners", send: owners(1_000), text: notListed},
		{name: "6,000 wrong owners", send: owners(6_000), text: notListed},
		{name: "45,000 wrong owners", send: owners(45_000), text: notListed},
		{name: "5,000 wrong finalizers", send: post(configMaps, `{"metadata":{"name":"own","finalizers":[`+
			repeated(`"a b c"`, 5_000)+`]}}`), text: notListed},
		{name: "90,000 wrong finalizers", send: post(configMaps, `{"metadata":{"name":"own","finalizers":[`+
			repeated(`"a b c"`, 90_000)+`]}}`), text: notListed},
		{name: "19,000 right finalizers", send: post(configMaps, `{"metadata":{"name":"own","finalizers":[`+
			numbered(`"example.com/f%d"`, 19_000)+`]}}`), codes: []int{201}},
		{name: "5,000 wrong labels", send: post(configMaps, `{"metadata":{"name":"own","labels":{`+
			numbered(`"a b c %d":"x y"`, 5_000)+`}}}`), text: notListed},
		{name: "19,000 wrong labels", send: post(configMaps, `{"metadata":{"name":"own","labels":{`+
			numbered(`"a b c %d":"x y"`, 19_000)+`}}}`), text: notListed},
		{name: "19,000 right labels", send: post(configMaps, `{"metadata":{"name":"own","labels":{`+
			numbered(`"a%d":"x"`, 19_000)+`}}}`), codes: []int{201}},
		{name: "19,000 wrong annotations", send: post(configMaps, `{"metadata":{"name":"own","annotations":{`+
			numbered(`"a b c %d":"x y"`, 19_000)+`}}}`), text: notListed},
		{name: "5,000 wrong keys", send: post(configMaps, configMap("own", `,"data":{`+numbered(`"a b c %d":"x"`, 5_000)+`}`)),
			text: notListed},
		{name: "19,000 wrong keys of a Secret", send: post(secrets, `{"metadata":{"name":"own"},"stringData":{`+
			numbered(`"a b c %d":"x"`, 19_000)+`}}`), text: notListed},
		{name: "a label of two megabytes", send: post(configMaps, `{"metadata":{"name":"own","labels":{"a":"`+
			strings.Repeat("x", 2*mega)+`"}}}`), text: "63"},
		{name: "100 labels of 20 KB", send: post(configMaps, `{"metadata":{"name":"own","labels":{`+
			numbered(`"a%d":"`+strings.Repeat("x", 20_000)+`"`, 100)+`}}}`), text: "63"},
		{name: "2,000 empty containers", send: pod(`"containers":[` + repeated("{}", 2_000) + `]`), text: notListed},
		{name: "45,000 empty containers", send: pod(`"containers":[` + repeated("{}", 45_000) + `]`), text: notListed},
		{name: "8,000 containers of one name", send: pod(`"containers":[` + repeated(`{"name":"a","image":"i"}`, 8_000) + `]`), text: notListed},
		{name: "5,000 containers and mounts of unknown volumes",
			send: pod(`"containers":[` + repeated(`{"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/a"}]}`, 5_000) + `]`),
			text: notListed},
		{name: "20,000 volumes of one name", send: pod(container + `}],"volumes":[` + repeated(`{"name":"v"}`, 20_000) + `]`), text: notListed},
		{name: "20,000 mounts of 8,000 volumes", send: pod(container + `,"volumeMounts":[` + numbered(`{"name":"v%d","mountPath":"/a"}`, 12_000) +
			`]}],"volumes":[` + numbered(`{"name":"v%d"}`, 12_000) + `]`), codes: []int{201, 422}},
		{name: "20,000 ports of one number", send: pod(container + `,"ports":[` + repeated(`{"containerPort":80,"hostPort":80,"name":"p"}`, 20_000) + `]}]`),
			codes: []int{201, 422}},
		{name: "30,000 variables of one name", send: pod(container + `,"env":[` + repeated(`{"name":"a","value":"b"}`, 30_000) + `]}]`),
			codes: []int{201}},
		{name: "30,000 wrong variables", send: pod(container + `,"env":[` + repeated(`{"name":"=","value":"b"}`, 30_000) + `]}]`), text: notListed},
		{name: "30,000 tolerations", send: pod(container + `}],"tolerations":[` + repeated(`{"operator":"Exists"}`, 40_000) + `]`),
			codes: []int{201, 422}},
		{name: "20,000 wrong tolerations", send: pod(container + `}],"tolerations":[` + repeated(`{"operator":"x","effect":"y"}`, 20_000) + `]`),
			text: notListed},
		{name: "20,000 topology constraints", send: pod(container + `}],"topologySpreadConstraints":[` +
			repeated(`{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}`, 20_000) + `]`), text: notListed},
		{name: "30,000 node selector terms", send: pod(container + `}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":` +
			`{"nodeSelectorTerms":[` + repeated(`{"matchExpressions":[{"key":"=","operator":"x"}]}`, 15_000) + `]}}}`), text: notListed},
		{name: "40,000 pod conditions", send: pod(container + `}],"readinessGates":[` + repeated(`{"conditionType":"a"}`, 40_000) + `]`),
			codes: []int{201, 422}},
		{name: "90,000 host aliases", send: pod(container + `}],"hostAliases":[` + repeated(`{"ip":"x"}`, 40_000) + `]`), text: notListed},
		{name: "40,000 sysctls of one name", send: pod(container + `}],"securityContext":{"sysctls":[` + repeated(`{"name":"a","value":"b"}`, 30_000) + `]}`),
			text: notListed},
		{name: "20,000 ports of a Service", send: post(services, `{"metadata":{"name":"s"},"spec":{"ports":[`+
			repeated(`{"port":80}`, 20_000)+`]}}`), text: notListed},
		{name: "20,000 different ports of a Service", send: post(services, `{"metadata":{"name":"s"},"spec":{"ports":[`+
			numbered(`{"name":"p%d","port":80}`, 20_000)+`]}}`), codes: []int{201, 422}},
		{name: "40,000 external addresses", send: post(services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"externalIPs":[`+
			repeated(`"x"`, 40_000)+`]}}`), text: notListed},
		{name: "10,000 rules of an Ingress", send: post("/apis/networking.k8s.io/v1/namespaces/default/ingresses",
			`{"metadata":{"name":"i"},"spec":{"rules":[`+repeated(`{"host":"/","http":{"paths":[{"path":"x"}]}}`, 10_000)+`]}}`), text: notListed},
		{name: "10,000 peers of a NetworkPolicy", send: post("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
			`{"metadata":{"name":"n"},"spec":{"podSelector":{},"ingress":[{"from":[`+repeated(`{"ipBlock":{"cidr":"x","except":["y"]}}`, 10_000)+`]}]}}`),
			codes: []int{404, 422}},
		{name: "an EndpointSlice of 20,000 endpoints", send: post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
			`{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[`+repeated(`{"addresses":["x"]}`, 20_000)+`]}`)},
		{name: "Endpoints of 20,000 addresses", send: post("/api/v1/namespaces/default/endpoints",
			`{"metadata":{"name":"e"},"subsets":[{"addresses":[`+repeated(`{"ip":"x"}`, 40_000)+`]}]}`), text: notListed},
		{name: "a selector of 30,000 requirements", send: post(deployments, strings.Replace(deployment, `"matchLabels":{"a":"b"}`,
			`"matchExpressions":[`+repeated(`{"key":"=","operator":"x"}`, 30_000)+`]`, 1)), text: notListed},
		{name: "a selector of 49,000 values", send: post(deployments, strings.Replace(deployment, `"matchLabels":{"a":"b"}`,
			`"matchExpressions":[{"key":"a","operator":"In","values":[`+numbered(`"b%d"`, 90_000)+`]}]`, 1)), codes: []int{201, 422}},
	}
}

// quantities are extreme quantities and counts.
func quantities() []row {
	pod := func(quantity string) []request {
		return post(pods, `{"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"`+quantity+`"}}}]}}`)
	}
	refused := func(name, quantity string) row { return row{name: "a limit of " + name, send: pod(quantity)} }
	taken := func(quantity string) row {
		return row{name: "a limit of " + quantity, send: pod(quantity), codes: []int{201}}
	}
	replicas := func(n string) []request {
		return post("/apis/apps/v1/namespaces/default/replicasets", strings.Replace(deployment, `"replicas":0`, `"replicas":`+n, 1))
	}
	hundreds := `{"metadata":{"name":"q"},"spec":{"containers":[` + numbered(
		`{"name":"c%d","image":"i","resources":{"limits":{"cpu":"`+strings.Repeat("9", 250)+`e99","memory":"1e99"}}}`, 3_000) + `]}}`
	rows := []row{
		taken("."), taken("1n"), taken("1E"), taken("9223372036854775807"), taken("9223372036854775808Ei"),
		{name: "3,000 containers with long quantities", send: post(pods, hundreds), codes: []int{201, 413, 400, 422}},
		{name: "a ResourceQuota of vast limits", send: post("/api/v1/namespaces/default/resourcequotas",
			`{"metadata":{"name":"q"},"spec":{"hard":{"cpu":"9223372036854775807E","pods":"1e99"}}}`), codes: []int{201, 422}},
		{name: "a ResourceQuota of a vaster limit", send: post("/api/v1/namespaces/default/resourcequotas",
			`{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1e300000000"}}}`)},
		{name: "2,147,483,648 replicas", send: replicas("2147483648")},
		{name: "-1 replicas", send: replicas("-1"), text: "must be greater than or equal to 0"},
		{name: "9,223,372,036,854,775,807 replicas", send: replicas("9223372036854775807")},
		{name: "1e300 replicas", send: replicas("1e300")},
	}
	for i, q := range []string{"1e999999999", "1e1000", "1e-999999999", "1e18E", "NaN", "Inf", "1Ki1", "0x10", "\uff11", "",
		strings.Repeat("9", 300), "0." + strings.Repeat("0", 300) + "1", strings.Repeat("9", mega), "-1"} {
		rows = append(rows, refused(fmt.Sprintf("%.12q, number %d", q, i), q))
	}
	return rows
}

// yamlOutput are objects that a list in YAML cannot show as they are.
func yamlOutput() []row {
	list := get(configMaps, "Accept", yamlType)
	return []row{
		{name: "U+FFFE in a value", setup: post(configMaps, configMap("a", `,"data":{"k":"\ufffe"}`)), send: list, codes: []int{200}},
		{name: "control characters in a value", setup: post(configMaps, configMap("a", `,"data":{"k":"\u0000\u001b\u007f\u0085\ufeff"}`)),
			send: list, codes: []int{200}},
		{name: "a key of 1,100 characters in managedFields", setup: append(post(configMaps, configMap("a", `,"data":{"k":"v"}`)),
			patch(configMaps+"/a", mergeType, `{"metadata":{"managedFields":[{"manager":"x","operation":"Update","apiVersion":"v1",`+
				`"fieldsType":"FieldsV1","fieldsV1":{"f:`+strings.Repeat("x", 1_100)+`":{}}}]}}`)...), send: list, codes: []int{200}},
		{name: "a key of 1,100 characters in a custom resource", setup: withThing(`{"` + strings.Repeat("x", 1_100) + `":1}`),
			send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "990 levels", setup: withThing(nested(`{"a":`, "1", "}", 990)), send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "990 lists", setup: withThing(nested(`[`, "1", "]", 990)), send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "a text of 2.9 MB", setup: withThing(`"` + strings.Repeat("x ", 1_450_000) + `"`), send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "a text of 400,000 lines", setup: withThing(`"` + strings.Repeat(`a\n`, 900_000) + `"`), send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "90,000 numbers", setup: withThing(`[` + repeated("1", 90_000) + `]`), send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "19,000 keys", setup: withThing(`{` + numbered(`"a%d":1`, 19_000) + `}`), send: get(things, "Accept", yamlType), codes: []int{200}},
		{name: "a table of 990 levels", setup: withThing(nested(`{"a":`, "1", "}", 990)),
			send: get(things, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"), codes: []int{200}},
	}
}
