package attacks

import (
	"fmt"
	"io"
	"log"
	"strings"
	"time"
)

// quietLog is the log of a hostile program.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// admission are objects that built-in admission and validation must judge.
func admission() []row {
	service := func(spec string) []request {
		return post(services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],`+spec+`}}`)
	}
	cron := func(spec string) []request {
		return post("/apis/batch/v1/namespaces/default/cronjobs", `{"metadata":{"name":"cj"},"spec":{`+spec+`,"jobTemplate":{"spec":{"template":`+
			`{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`)
	}
	last := func(name, spec, when string) row {
		return row{name: "a CronJob that ran last " + name, setup: cron(spec), send: patch("/apis/batch/v1/namespaces/default/cronjobs/cj/status",
			mergeType, `{"status":{"lastScheduleTime":"`+when+`"}}`), codes: []int{200}}
	}
	const minutely = `"schedule":"* * * * *"`
	rows := []row{
		{name: "the deletion of kube-system", send: remove(namespaces + "/kube-system"), codes: []int{403}},
		{name: "the deletion of default", send: remove(namespaces + "/default"), codes: []int{403}},
		{name: "the deletion of kube-public", send: remove(namespaces + "/kube-public"), codes: []int{403}},
		{name: "a namespace that is absent", send: post("/api/v1/namespaces/nope/configmaps", configMap("a", "")), codes: []int{404}},
		{name: "a namespace that is being deleted", setup: append(post(namespaces, `{"metadata":{"name":"stuck"}}`), append(
			post("/api/v1/namespaces/stuck/configmaps", `{"metadata":{"name":"a","finalizers":["x/y"]}}`), remove(namespaces+"/stuck")...)...),
			send: post("/api/v1/namespaces/stuck/configmaps", configMap("b", "")), codes: []int{403}, text: "being terminated"},
		{name: "a change of an immutable Secret", setup: post(secrets, `{"metadata":{"name":"a"},"immutable":true,"data":{"a":"eA=="}}`),
			send: patch(secrets+"/a", mergeType, `{"data":{"a":"eQ=="}}`), text: "immutable"},
		{name: "a finalizer of an object that is being deleted", setup: append(post(configMaps, `{"metadata":{"name":"a","finalizers":["x/y"]}}`),
			remove(configMaps+"/a")...), send: patch(configMaps+"/a", mergeType, `{"metadata":{"finalizers":["x/y","x/z"]}}`), text: "no new finalizers"},
		{name: "an external name with a line break", send: service(`"type":"ExternalName","externalName":"a b\n../c"`), text: "externalName"},
		{name: "254 Services", run: func(s *server) answer {
			var last answer
			for i := range 254 {
				last = s.send(post(services, fmt.Sprintf(`{"metadata":{"name":"s%d"},"spec":{"ports":[{"port":80}]}}`, i))[0])
			}
			return last
		}, codes: []int{422, 500}, text: "range is full"},
		{name: "a Deployment of 2,147,483,647 replicas", send: post(deployments, strings.Replace(deployment, `"replicas":0`, `"replicas":2147483647`, 1)),
			codes: []int{201}, cpu: 20 * time.Second}, // the controllers create pods up to their limit
		{name: "a schedule of every nanosecond", send: cron(`"schedule":"@every 1ns"`), codes: []int{201, 422}},
		{name: "a schedule of every 0 s", send: cron(`"schedule":"@every 0s"`), codes: []int{201, 422}},
		{name: "a schedule in /etc/passwd", send: cron(`"schedule":"TZ=../../../etc/passwd * * * * *"`), text: "spec.schedule"},
		{name: "a schedule in another file", send: cron(`"schedule":"CRON_TZ=/etc/passwd * * * * *"`), text: "spec.schedule"},
		{name: "a time zone of a file", send: cron(minutely + `,"timeZone":"../../etc/passwd"`), text: "timeZone"},
		{name: "a schedule of minute 99999999", send: cron(`"schedule":"99999999 * * * *"`), text: "spec.schedule"},
		{name: "a schedule of step 0", send: cron(`"schedule":"*/0 * * * *"`), text: "spec.schedule"},
		{name: "a schedule of 31 February", send: cron(`"schedule":"0 0 31 2 *"`), codes: []int{201}},
		{name: "a schedule of a megabyte", send: cron(`"schedule":"` + repeated("1", mega/2) + ` * * * *"`), codes: []int{201, 422}},
		{name: "a schedule of a million stars", send: cron(`"schedule":"` + strings.Repeat("* ", mega) + `"`), text: "spec.schedule"},
		last("in the year 1", minutely, "0001-01-01T00:00:01Z"), last("in 1970", minutely, "1970-01-01T00:00:00Z"),
		last("in 9999", minutely, "9999-12-31T23:59:59Z"), last("in the year 1, by the second", `"schedule":"@every 1s"`, "0001-01-01T00:00:01Z"),
		last("in the year 1, with a deadline", minutely+`,"startingDeadlineSeconds":4611686018427387904`, "0001-01-01T00:00:01Z"),
		last("in the year 1, in Berlin", minutely+`,"timeZone":"Europe/Berlin"`, "0001-01-01T00:00:01Z"),
		last("in the year 1, on 29 February", `"schedule":"0 0 29 2 1"`, "0001-01-01T00:00:01Z"),
		{name: "an owner in another namespace", send: post(configMaps, `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"x","uid":"u"}]}}`),
			codes: []int{201}},
		{name: "an eviction with a body of 90,000 values", setup: post(pods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`),
			send: post(pods+"/p/eviction", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":[`+repeated(`"x"`, 90_000)+`]}}`), codes: []int{201, 400, 413, 422}},
		{name: "options of a deletion with 90,000 dry runs", setup: post(configMaps, configMap("a", "")), send: []request{{method: "DELETE",
			path: configMaps + "/a", body: `{"dryRun":[` + repeated(`"x"`, 90_000) + `]}`}}},
		{name: "options of a deletion with a million values", setup: post(configMaps, configMap("a", "")), send: []request{{method: "DELETE",
			path: configMaps + "/a", body: `{"dryRun":[` + repeated(`"x"`, 700_000) + `]}`}}},
		{name: "options of a deletion of brackets", setup: post(configMaps, configMap("a", "")), send: []request{{method: "DELETE",
			path: configMaps + "/a", body: strings.Repeat("[", mega)}}},
		{name: "a scale of 90,000 values", setup: post(deployments, deployment), send: put(deployments+"/d/scale",
			`{"metadata":{"name":"d"},"spec":{"replicas":1},"status":{"selector":[`+repeated("1", 90_000)+`]}}`), codes: []int{200, 400, 413, 422}},
	}
	for _, ip := range []string{"10.0.0.1", "127.0.0.1", "169.254.169.254", "10.0.1.5", "x", strings.Repeat("1", mega)} {
		rows = append(rows, row{name: fmt.Sprintf("the cluster address %.16s", ip), send: service(`"clusterIP":"` + ip + `"`), text: "clusterIP"})
	}
	return rows
}

// endpoints are addresses of endpoints.
func endpoints() []row {
	var rows []row
	for i, address := range []string{"127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "::1", "fe80::1", "256.1.1.1", "1.2.3.4/8", "127.0.0.1\n",
		"::ffff:127.0.0.1", "0177.0.0.1", strings.Repeat("1", mega)} {
		rows = append(rows,
			row{name: fmt.Sprintf("an EndpointSlice, address %d", i), send: post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
				`{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[{"addresses":[`+quoted(address)+`]}]}`), text: "addresses[0]"},
			row{name: fmt.Sprintf("Endpoints, address %d", i), send: post("/api/v1/namespaces/default/endpoints",
				`{"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":`+quoted(address)+`}]}]}`), text: "addresses[0].ip"})
	}
	return rows
}

// journal are deliveries to the journal of why, and queries of it.
func journal() []row {
	const path = "/bowline/why"
	run := func(fields string) string {
		return `{"runs":[{"id":"1","controller":"c","object":{"resource":"pods","namespace":"default","name":"p"},"start":"` +
			time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) + `"` + fields + `}]}`
	}
	return []row{
		{name: "an escape sequence", send: post(path, run(`,"error":"\u001b[31m"`)), text: "invalid runs"},
		{name: "a bidirectional override", send: post(path, strings.Replace(run(""), `"c"`, `"c\u202e"`, 1)), text: "invalid runs"},
		{name: "a line break", send: post(path, run(`,"error":"a\nb"`)), text: "invalid runs"},
		{name: "513 runs", send: post(path, `{"runs":[`+repeated(`{"controller":"c"}`, 513)+`]}`), text: "513 runs"},
		{name: "90,000 runs", send: post(path, `{"runs":[`+repeated(`{}`, 90_000)+`]}`)},
		{name: "more than a megabyte", send: post(path, `{"runs":["`+strings.Repeat("x", mega)+`"]}`), text: "1048576"},
		{name: "a million brackets", send: post(path, strings.Repeat("[", mega-1)), text: "depth"},
		{name: "2^63 times", send: post(path, run(`,"times":9223372036854775808`)), text: "times"},
		{name: "negative nanoseconds", send: post(path, run(`,"nanoseconds":-1`)), text: "invalid runs"},
		{name: "a start in 9999", send: post(path, `{"runs":[{"controller":"c","object":{"resource":"pods","name":"p"},"start":"9999-01-01T00:00:00Z"}]}`)},
		{name: "a run of 200,000 causes", send: post(path, run(`,"causes":[`+repeated("{}", 200_000)+`]`))},
		{name: "a negative limit", send: get(path + "?limit=-1"), text: "limit"},
		{name: "a limit of 2^63-1", send: get(path + "?limit=9223372036854775807"), codes: []int{200}},
		{name: "a deletion", send: remove(path), codes: []int{405}},
		{name: "a query of 500 KB", send: get(path + "?name=" + strings.Repeat("x", 500_000)), codes: []int{200, 400}},
	}
}
