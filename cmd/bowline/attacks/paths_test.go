package attacks

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// paths are requests of the administrator for paths that no client needs.
func paths() []row {
	rows := []row{
		{name: "a name of 100 KB", send: get(configMaps + "/" + strings.Repeat("a", 100_000)), codes: []int{404}},
		{name: "10,000 elements", send: get("/api/v1/namespaces" + strings.Repeat("/a", 5_000)), codes: []int{404}},
		{name: "20,000 times api", send: get(strings.Repeat("/api", 20_000)), codes: []int{404}},
		{name: "a group of 100 KB", send: get("/apis/" + strings.Repeat("x", 100_000)), codes: []int{404}},
		{name: "100,000 slashes", send: get("/api/v1" + strings.Repeat("/", 100_000)), codes: []int{200, 404}},
		{name: "100,000 dots", send: get("/api/v1/" + strings.Repeat("../", 30_000)), codes: []int{404}},
		{name: "100,000 encoded NULs", send: get("/api/v1/" + strings.Repeat("%00", 100_000)), codes: []int{404}},
		{name: "a query of 900 KB", send: get("/version?" + strings.Repeat("a", 900_000)), codes: []int{200}},
		{name: "100,000 parameters", send: get(configMaps + "?" + strings.Repeat("a=b&", 100_000)), codes: []int{200}},
	}
	odd := map[string][]int{
		configMaps + "/..%2f..%2fsecrets":                 {404},
		"/api/v1/namespaces/%2e%2e/configmaps":            {200},
		"/api/v1/namespaces/default%2fsecrets/configmaps": {404},
		configMaps + "/%00":                               {404},
		configMaps + "/..":                                {404},
		configMaps + "/.":                                 {404},
		configMaps + "/%2e%2e":                            {404},
		configMaps + "/a%0d%0aSet-Cookie:x":               {404},
		configMaps + "/%ff%fe":                            {404},
		configMaps + "/a%20b":                             {404},
		configMaps + "/\\..\\secrets":                     {404},
		configMaps + ";x":                                 {404},
		"/api/v1/namespaces//configmaps":                  {200},
		configMaps + "//":                                 {200},
		pods + "/x/exec":                                  {404},
		pods + "/x/attach":                                {404},
		pods + "/x/portforward":                           {404},
		pods + "/x/proxy/":                                {404},
		pods + "/x/log?sinceSeconds=-1":                   {422},
		services + "/http:kubernetes:443/proxy/":          {503},
		"/api/v1/nodes/x/proxy/":                          {404},
		"/api/v1/proxy/namespaces/default/services/x":     {404},
		"/api/v1/redirect/namespaces/default/pods/x":      {404},
		"/swagger.json":                                   {404},
		"/swaggerapi":                                     {404},
		"/ui":                                             {404},
		"/static/":                                        {404},
		"/debug/pprof/../../metrics":                      {404},
		"/debug/flags/v":                                  {404},
		"/configz":                                        {404},
		"/logs/":                                          {404},
		"/bowline":                                        {404},
		"/bowline/":                                       {404},
		"/bowline/../metrics":                             {404},
		"/bowline/backup/..":                              {404},
		"/bowline/backup/%2e%2e/why":                      {404},
		"/metrics/slis":                                   {404},
		"/metrics/cadvisor":                               {404},
		"/openapi/v3/../../../etc/passwd":                 {404},
		"/openapi/v3/apis/../../etc/passwd":               {404},
		"/openapi/v3/apis/apps/v1?hash=../../x":           {200, 301, 400, 404},
		"/apis/apps/v1/namespaces/default/deployments/../../../../../api/v1/secrets": {404},
		"/apis/APPS/v1":   {404},
		"/apis/apps/V1":   {404},
		"/api/v1/PODS":    {404},
		"/api/v1%2fpods":  {200},
		"/%61pi/v1/pods":  {200, 404},
		"/api/v1/pods%3f": {404},
	}
	for _, path := range slices.Sorted(maps.Keys(odd)) {
		rows = append(rows, row{name: strings.ReplaceAll(path, "/", "|"), send: get(path), codes: odd[path]})
	}
	return rows
}

// pprofPaths are profiles of the server.
func pprofPaths() []row {
	return []row{
		{name: "all goroutines", send: get("/debug/pprof/goroutine?debug=2"), codes: []int{200}},
		{name: "the heap", send: get("/debug/pprof/heap"), codes: []int{200}},
		{name: "the heap after a collection, 20 times", send: repeat(get("/debug/pprof/heap?gc=1")[0], 20),
			codes: []int{200}},
		{name: "a CPU profile of a second", send: get("/debug/pprof/profile?seconds=1"), codes: []int{200}},
		{name: "a trace of a second", send: get("/debug/pprof/trace?seconds=1"), codes: []int{200}},
		{name: "a CPU profile of -1 seconds", send: get("/debug/pprof/profile?seconds=-1"), codes: []int{200, 400},
			within: 35e9},
		{name: "an unknown profile", send: get("/debug/pprof/evil"), codes: []int{404}},
		{name: "symbols of a megabyte", send: post("/debug/pprof/symbol", strings.Repeat("0x1+", mega/4)),
			codes: []int{200, 404, 405, 413}},
		{name: "the command line", send: get("/debug/pprof/cmdline"), codes: []int{200}},
		{name: "as jane", run: as(jane, get("/debug/pprof/profile?seconds=100")[0]), codes: []int{403}},
	}
}

// repeat returns a request n times.
func repeat(q request, n int) []request {
	all := make([]request, n)
	for i := range all {
		all[i] = q
	}
	return all
}

// tokens are the parameters of lists: tokens of pages, revisions, limits and timeouts.
func tokens() []row {
	token := func(text string) string {
		return configMaps + "?limit=1&continue=" + base64.RawURLEncoding.EncodeToString([]byte(text))
	}
	from := func(start string) string {
		return token(fmt.Sprintf(`{"v":"meta.k8s.io/v1","rv":-1,"start":%q}`, start))
	}
	of := func(revision string) string {
		return token(`{"v":"meta.k8s.io/v1","rv":` + revision + `,"start":"default/a"}`)
	}
	with := func(parameters string) string { return configMaps + "?" + parameters }
	return []row{
		{name: "start: climbs", send: get(from("../../secrets/")), codes: []int{400}},
		{name: "start: climbs from the root", send: get(from("/../../secrets/default/")), codes: []int{400}},
		{name: "start: encoded dots", send: get(from("%2e%2e/%2e%2e/secrets/")), codes: []int{200, 400}},
		{name: "start: NUL", send: get(from("\x00")), codes: []int{200, 400}},
		{name: "start: U+FFFF", send: get(from("\uffff")), codes: []int{200}},
		{name: "start: another namespace", send: get(from("kube-system/x")), codes: []int{200}},
		{name: "start: 500 KB", send: get(from(strings.Repeat("a", 500_000))), codes: []int{200}},
		{name: "start: two slashes", send: get(from("//")), codes: []int{400}},
		{name: "start: ..", send: get(from("..")), codes: []int{400}},
		{name: "start: a dot-dot inside", send: get(from("a/../../")), codes: []int{400}},
		{name: "start: a dot-dot at the end", send: get(from("a/..")), codes: []int{400}},
		{name: "start: nothing", send: get(from("")), codes: []int{200, 400}},
		{name: "revision of a token: 1", send: get(of("1")), codes: []int{410}},
		{name: "revision of a token: -1", send: get(of("-1")), codes: []int{200}},
		{name: "revision of a token: -5", send: get(of("-5")), codes: []int{200}},
		{name: "revision of a token: 0", send: get(of("0")), codes: []int{400}},
		{name: "revision of a token: the largest", send: get(of("9223372036854775807")), codes: []int{504},
			text: "Too large"},
		{name: "revision of a token: the smallest", send: get(of("-9223372036854775808")), codes: []int{200}},
		{name: "revision of a token: above 64 bits", send: get(of("18446744073709551616")), codes: []int{400}},
		{name: "revision of a token: next year's", send: get(of("9000000000000000")), codes: []int{504}, text: "Too large"},
		{name: "revision of a token: a text", send: get(of(`"1"`)), codes: []int{400}},
		{name: "revision of a token: 1.5", send: get(of("1.5")), codes: []int{400}},
		{name: "revision of a token: 1e5", send: get(of("1e5")), codes: []int{400}},
		{name: "revision of a token: 1e999999999", send: get(of("1e999999999")), codes: []int{400}},
		{name: "a token that is no base64", send: get(with("limit=1&continue=!!!")), codes: []int{200, 400}},
		{name: "a token of an empty object", send: get(token("{}")), codes: []int{400}},
		{name: "a token of another version", send: get(token(`{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`)),
			codes: []int{400}},
		{name: "a token of 200,000 brackets", send: get(token(strings.Repeat("[", 200_000))), codes: []int{400}},
		{name: "a token of 100,000 values", send: get(token(`{"v":[` + repeated("1", 100_000) + `]}`)), codes: []int{400}},
		{name: "a token with unknown fields", send: get(token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"a","x":1}`)),
			codes: []int{200}},
		{name: "a token and a revision", send: get(from("a") + "&resourceVersion=1"), codes: []int{400}},
		{name: "a token of ConfigMaps for Secrets", send: get(strings.Replace(from("default/a"), "configmaps", "secrets", 1)),
			codes: []int{200}},
		{name: "a token for jane", run: as(jane, get(from("default/a"))[0]), codes: []int{403}},
		{name: "limit -1", send: get(with("limit=-1")), codes: []int{200}},
		{name: "limit 2^63", send: get(with("limit=9223372036854775808")), codes: []int{400}},
		{name: "limit abc", send: get(with("limit=abc")), codes: []int{400}},
		{name: "limit 9e18", send: get(with("limit=9000000000000000000")), codes: []int{200}},
		{name: "revision -1", send: get(with("resourceVersion=-1")), codes: []int{400}},
		{name: "revision 2^64", send: get(with("resourceVersion=18446744073709551616")), codes: []int{400}},
		{name: "revision of the future", send: get(with("resourceVersion=99999999999999999")), codes: []int{504}},
		{name: "revision of the future, watched",
			send:  get(with("watch=true&timeoutSeconds=1&resourceVersion=99999999999999999")),
			codes: []int{200, 504}},
		{name: "revision of the past, watched", send: get(with("watch=true&timeoutSeconds=1&resourceVersion=1")),
			codes: []int{200, 410}, text: "too old resource version"},
		{name: "revision abc", send: get(with("resourceVersion=abc")), codes: []int{400}},
		{name: "revision of 500 KB", send: get(with("resourceVersion=" + strings.Repeat("9", 500_000))), codes: []int{400}},
		{name: "revision 1, exactly", send: get(with("resourceVersion=1&resourceVersionMatch=Exact")), codes: []int{410}},
		{name: "revision 01", send: get(with("resourceVersion=01")), codes: []int{200}},
		{name: "revision 0x10", send: get(with("resourceVersion=0x10")), codes: []int{400}},
		{name: "revision with NUL", send: get(with("resourceVersion=%00")), codes: []int{400}},
		{name: "match Evil", send: get(with("resourceVersion=1&resourceVersionMatch=Evil")), codes: []int{422}},
		{name: "timeoutSeconds -1", send: get(with("timeoutSeconds=-1")), codes: []int{200}},
		{name: "timeout of 99999 hours", send: get(with("timeout=99999h")), codes: []int{200}},
		{name: "timeout of -1 second", send: get(with("timeout=-1s")), codes: []int{200, 400, 504}},
		{name: "timeout of a nanosecond", send: get(with("timeout=1ns")), codes: []int{504}},
		{name: "timeout abc", send: get(with("timeout=abc")), codes: []int{400}},
		{name: "pretty", send: get(with("pretty=1")), codes: []int{200}},
		{name: "an unknown field", send: get(with("fieldSelector=spec.x%3da")), codes: []int{400}},
		{name: "a name that climbs", send: get(with("fieldSelector=metadata.name%3d../")), codes: []int{200}},
		{name: "a name with a slash", send: get(with("fieldSelector=metadata.name%3da/b")), codes: []int{200}},
		{name: "a watch of 2^63 seconds, as a table",
			send: get(with("watch=true&timeoutSeconds=9223372036854775808")), codes: []int{400}},
		{name: "options of a deletion in the query", send: remove(configMaps + "/a?gracePeriodSeconds=-9223372036854775808"),
			codes: []int{404, 422}},
	}
}

// selectors are large and nested selectors.
func selectors() []row {
	labels := func(selector string) []request {
		return get(configMaps + "?labelSelector=" + url.QueryEscape(selector))
	}
	fields := func(selector string) []request {
		return get(configMaps + "?fieldSelector=" + url.QueryEscape(selector))
	}
	return []row{
		{name: "30,000 requirements", send: labels(numbered("a%d=b", 30_000)), codes: []int{200}},
		{name: "30,000 equal requirements", send: labels(repeated("a=b", 30_000)), codes: []int{200}},
		{name: "100,000 values of a label", send: labels("a in (" + numbered("b%d", 100_000) + ")"), codes: []int{200}},
		{name: "100,000 values excluded", send: labels("a notin (" + numbered("b%d", 100_000) + ")"), codes: []int{200}},
		{name: "150,000 times not", send: labels(strings.Repeat("!", 150_000)), codes: []int{400}},
		{name: "a megabyte of spaces", send: labels(strings.Repeat(" ", mega-2*kilo)), codes: []int{200}},
		{name: "100,000 brackets", send: labels("a in " + strings.Repeat("(", 100_000)), codes: []int{400}},
		{name: "a key of 300 KB", send: labels(strings.Repeat("k", 300_000)), codes: []int{400}},
		{name: "a value of 300 KB", send: labels("a=" + strings.Repeat("k", 300_000)), codes: []int{400}},
		{name: "200,000 commas", send: labels(strings.Repeat(",", 200_000)), codes: []int{200, 400}},
		{name: "200,000 equals signs", send: labels(strings.Repeat("=", 200_000)), codes: []int{400}},
		{name: "NUL", send: labels("a=\x00"), codes: []int{200}},
		{name: "numbers beyond 64 bits", send: labels("a>99999999999999999999999"), codes: []int{400}},
		{name: "50,000 requirements of fields", send: fields(repeated("metadata.name=a", 50_000)), codes: []int{200}},
		{name: "25,000 fields that differ", send: fields(numbered("metadata.name!=a%d", 25_000)), codes: []int{200}},
		{name: "100,000 backslashes", send: fields("metadata.name=" + strings.Repeat("\\", 100_000)), codes: []int{200, 400}},
		{name: "a field of 300 KB", send: fields(strings.Repeat("k", 300_000) + "=a"), codes: []int{400}},
		{name: "1,000 shards", send: get(configMaps + "?shardSelector=" +
			url.QueryEscape(repeated("shardRange(object.metadata.uid,'0x0','0x1')",
				1000))), codes: []int{200, 400}},
	}
}
