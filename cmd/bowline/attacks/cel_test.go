package attacks

import (
	"encoding/json"
	"fmt"
	"strings"
)

// quoted returns a text as JSON.
func quoted(text string) string {
	out, _ := json.Marshal(text) // a text can be encoded
	return string(out)
}

// rule is a definition with a rule about a list l of numbers and a text s.
func rule(expression string) []request {
	return define(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}},"s":{"type":"string"},` +
		`"m":{"type":"object","additionalProperties":{"type":"string"}}},` +
		`"x-kubernetes-validations":[{"rule":` + quoted(expression) + `}]}`)
}

const (
	expensive = "estimated rule cost exceeds budget"
	vast      = `"s":"999999999"`
)

// celTable are rows with a rule each.
type celTable []row

// refused adds a rule that a definition may not have.
func (r *celTable) refused(name, expression, text string) {
	*r = append(*r, row{name: "a rule: " + name, send: rule(expression), text: text})
}

// used adds a rule, and an object that it validates.
func (r *celTable) used(name, expression, object string) {
	*r = append(*r, row{name: name, setup: rule(expression), send: post(things, thing("a", object)), codes: []int{201, 422}})
}

// longText is a field of 2 MB, and manyNumbers one of 99,000 numbers.
func longText() string    { return `"s":"` + strings.Repeat("a", 2*mega) + `"` }
func manyNumbers() string { return `"l":[` + repeated("1", 99_000) + `]` }

// celRules are rules in CEL, and objects that they validate.
func celRules() []row {
	var r celTable
	r.addRefused()
	r.addQuantities()
	r.addTexts()
	r.addLists()
	return append(r, celOthers()...)
}

// addRefused adds rules that cost too much by their estimate, or do not compile.
func (r *celTable) addRefused() {
	r.refused("a list squared", "self.l.all(a, self.l.all(b, a + b > 0))", expensive)
	r.refused("a list cubed", "self.l.all(a, self.l.all(b, self.l.all(c, a + b > c)))", expensive)
	r.refused("contains squared", "self.l.all(a, self.s.contains(self.s))", expensive)
	r.refused("a pattern of the object", "self.s.matches(self.s)", expensive)
	r.refused("types that double 20 times", "[{1: 1}]"+strings.Repeat(".map(a, {a: a})", 20)+".size() > 0", "too large")
	r.refused("chains of map and filter", "self.l.map(a, self.l.map(b, a+b).filter(c, c>1)).size() > 0", expensive)
	r.refused("sets", "sets.contains(self.l, self.l)", expensive)
	r.refused("join", "self.l.map(a, self.s).join(self.s).size() > 0", expensive)
	r.refused("a literal list of 100,000", "["+repeated("1", 100_000)+"].size() > 0", "Invalid value")
	r.refused("5,000 parentheses", nested("(", "true", ")", 5_000), "Invalid value")
	r.refused("500,000 parentheses", nested("(", "true", ")", 500_000), "Invalid value")
	r.refused("20,000 conjunctions", "true"+strings.Repeat("&&true", 20_000), "Invalid value")
	r.refused("nested ternaries", strings.Repeat("true ? ", 500)+"true"+strings.Repeat(": false", 500), "Invalid value")
	r.refused("an undeclared function", `os("id")`, "undeclared reference")
	r.refused("an unknown field", "self.zz == 1", "undefined field")
	r.refused("an unterminated text", `"`, "Invalid value")
	r.refused("a text of a megabyte", `self.s != "`+strings.Repeat("x", mega)+`"`, "")
	r.refused("2.9 MB of not", strings.Repeat("!", 2_900_000)+"true", "")
}

// addQuantities adds rules that parse quantities.
func (r *celTable) addQuantities() {
	const rest = ".isGreaterThan(quantity('1'))"
	r.used("quantity of the object", "quantity(self.s)"+rest, `"s":"1e999999999"`)
	r.used("isQuantity of the object", "isQuantity(self.s)", `"s":"1e999999999"`)
	r.used("quantity of a literal", "quantity('1e999999999')"+rest, vast)
	r.used("quantity made of two literals", "quantity('1e'+'999999999')"+rest, vast)
	r.used("quantity made of a literal and the object", "quantity('1e'+self.s)"+rest, vast)
	r.used("isQuantity made of a literal and the object", "isQuantity('1e'+self.s)", vast)
	r.used("quantity of a replaced text", "quantity(self.s.replace('9', '1e99999999'))"+rest, `"s":"9"`)
	r.refused("quantity of a joined list", "quantity(['1e', self.s].join('9'))"+rest, expensive)
	r.used("quantities added", "quantity('1e99').add(quantity('1e-99')).compareTo(quantity('1')) > 0", vast)
	r.refused("quantities of all items", "self.l.all(a, quantity('1e9'+string(a)).compareTo(quantity('1')) > 0)", expensive)
	r.used("quantity of 2 MB of digits", "isQuantity(self.s)", `"s":"`+strings.Repeat("9", 2*mega)+`"`)
}

// addTexts adds rules about long texts.
func (r *celTable) addTexts() {
	long := longText()
	r.used("a text that grows", "(self.s+self.s+self.s+self.s).size() > 0", long)
	r.used("a text of 2 MB replaced", "self.s.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').size() > 0", long)
	r.used("each character of 2 MB replaced by all", "self.s.replace('a', self.s).size() > 0", long)
	r.used("a text of 300 KB, found to its end from each character", "self.s.findAll('.*b|a').size() >= 0",
		`"s":"`+strings.Repeat("a", 300_000)+`"`)
	r.used("a text formatted 900 times", "'"+strings.Repeat("%s", 900)+"'.format(["+repeated("self.s", 900)+"]).size() > 0", long)
	r.used("a text of 2 MB split", "self.s.split('a').size() > 0", long)
	r.used("a text of 2 MB split into characters", "self.s.split('').size() > 0", long)
	r.used("a text of 2 MB in another case", "self.s.upperAscii() != self.s.lowerAscii()", long)
	r.used("a text of 2 MB searched", "self.s.indexOf('ab') < 0 && self.s.lastIndexOf('ba') < 0", long)
	r.refused("a text found in itself", "self.s.contains(self.s.substring(1) + 'b')", expensive)
	r.used("a pattern on 2 MB", "self.s.matches('^(a*)*b?$')", long)
	r.used("a pattern of many states on 2 MB", "self.s.matches('^(.*a){500}$')", long)
	r.used("a pattern found everywhere", "self.s.findAll('a').size() > 0", long)
	r.used("a pattern found greedily", "self.s.findAll('a*b').size() == 0", long)
	r.used("a text searched for half of itself", "self.s.indexOf(self.s.substring(1000000) + 'b') < 0", long)
	r.used("a URL of 2 MB", "isURL(self.s)", long)
	r.used("a URL made longer", "url('https://x/'+self.s).getEscapedPath().size() > 0", long)
	r.used("an address of 2 MB", "isIP(self.s) || isCIDR(self.s)", long)
	r.used("a duration of 2 MB", "duration(self.s) > duration('1s')", `"s":"`+strings.Repeat("9", 2*mega)+`s"`)
	r.used("a number of 2 MB", "int(self.s) > 0", `"s":"`+strings.Repeat("9", 2*mega)+`"`)
	r.used("a version of 2 MB", "isSemver(self.s)", `"s":"1.`+strings.Repeat("9", 2*mega)+`.1"`)
	r.used("bytes of 2 MB", "bytes(self.s).size() > 0", long)
}

// addLists adds rules about lists and maps.
func (r *celTable) addLists() {
	numbers := manyNumbers()
	r.used("a list of 700 times the list, compared", "["+repeated("self.l", 700)+"] == ["+repeated("self.l", 700)+"]", numbers)
	r.refused("a list added to itself 5,000 times", "["+repeated("self.l + self.l", 5_000)+"].size() > 0", "too long to compile")
	r.used("a list added to itself 600 times", "["+repeated("self.l+self.l", 600)+"].size() > 0", numbers)
	r.used("900 operands for each of 5,000 items", "self.l.all(x, x >= 0"+strings.Repeat(" && true", 900)+")", `"l":[`+repeated("1", 5_000)+`]`)
	r.used("a sum of 99,000 numbers", "self.l.sum() > 0", numbers)
	r.used("99,000 numbers compared", "self.l.all(a, a != 2)", numbers)
	r.refused("numbers mapped", "self.l.map(a, a).size() > 0", expensive)
	r.refused("numbers filtered", "self.l.filter(a, a == 1).size() > 0", expensive)
	r.used("99,000 numbers compared with themselves", "self.l == self.l && self.l in [self.l]", numbers)
	r.used("a sorted list", "self.l.isSorted()", numbers)
	r.used("the index of each item", "self.l.indexOf(2) < 0", numbers)
	r.refused("a list joined", "self.l.map(a, string(a)).join(',').size() > 0", expensive)
	r.used("99,000 numbers formatted", `"%d".format([1]) == "1"`, numbers)
	r.refused("numbers formatted each", `self.l.all(a, "%d".format([a]) == "1")`, expensive)
	r.used("a list formatted", `"%s".format([self.l]).size() > 0`, numbers)
	r.used("no rule worth the name", "true", numbers)
	r.used("a map of 19,000 keys", "self.m.all(k, self.m[k].size() > 0)", `"m":{`+numbered(`"k%d":"v"`, 19_000)+`}`)
}

// celOthers are many rules, messages and match conditions.
func celOthers() []row {
	of := func(fields string) []request { return post(things, thing("a", fields)) }
	declared := define(`{"type":"object","properties":{"list":{"type":"array","maxItems":250,"items":{"type":"integer"},` +
		`"x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, a + b > 0))"}]}}}`)
	many := define(property(`{"type":"array","items":{"type":"integer","x-kubernetes-validations":[` + repeated(`{"rule":"self > 0"}`, 50) + `]}}`))
	condition := func(name, expression string, codes ...int) row {
		hook := `{"metadata":{"name":"mc"},"webhooks":[{"name":"h.example.com","sideEffects":"None","admissionReviewVersions":["v1"],` +
			`"clientConfig":{"url":"https://127.0.0.1:1/"},"failurePolicy":"Ignore","rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],` +
			`"resources":["configmaps"]}],"matchConditions":[` + expression + `]}]}`
		return row{name: "a match condition: " + name, setup: post(mutatingHooks, hook),
			send: post(configMaps, configMap("a", `,"data":{`+numbered(`"k%d":"v"`, 8_000)+`}`)), codes: append(codes, 403)}
	}
	hook := func(name, conditions string) row {
		r := condition(name, conditions)
		return row{name: r.name, send: r.setup}
	}
	return []row{
		{name: "base64 of 2 MB decoded 1,300 times", setup: define(`{"type":"object","properties":{"b":{"type":"string",` +
			`"format":"byte"}},"x-kubernetes-validations":[{"rule":` + quoted("["+repeated("self.b", 1_300)+"].size() > 0") + `}]}`),
			send: of(`"b":"` + strings.Repeat("aaaa", mega/2) + `"`), codes: []int{201, 422}},
		{name: "a rule with a pattern of 3,300 repetitions", send: rule("'a'.matches('" + strings.Repeat("x{1000}", 3_300) + "')"),
			text: "instructions in all"},
		{name: "35 patterns of 5,000 classes", send: define(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string","pattern":"[`+
			strings.Repeat(`\\pL`, 5_000)+`]"}`, 35) + `}}`), text: "instructions in all"},
		{name: "a list of 250 squared", setup: declared, send: of(`"list":[1` + strings.Repeat(",1", 249) + `]`), codes: []int{201}},
		{name: "50 rules for 90,000 items, defined", send: many},
		{name: "500 rules, defined", send: define(`{"type":"object","x-kubernetes-validations":[` + repeated(`{"rule":"true"}`, 500) + `]}`), codes: []int{201}},
		{name: "rules in 500 properties", send: define(`{"type":"object","properties":{` +
			numbered(`"p%d":{"type":"string","x-kubernetes-validations":[{"rule":"self.size() < 9"}]}`, 500) + `}}`), codes: []int{201}},
		{name: "2,000 rules, defined", send: define(`{"type":"object","x-kubernetes-validations":[` + repeated(`{"rule":"true"}`, 2_000) + `]}`), codes: []int{201, 422}},
		{name: "20,000 rules, defined", send: define(`{"type":"object","x-kubernetes-validations":[` + repeated(`{"rule":"true"}`, 20_000) + `]}`), codes: []int{201, 413, 422}},
		{name: "20,000 rules that do not compile", send: define(`{"type":"object","x-kubernetes-validations":[` + repeated(`{"rule":"x"}`, 20_000) + `]}`)},
		{name: "500 rules, used", setup: define(`{"type":"object","x-kubernetes-validations":[` + repeated(`{"rule":"true"}`, 500) + `]}`),
			send: of(`"a":1`), codes: []int{201}},
		{name: "rules in 2,000 properties", send: define(`{"type":"object","properties":{` +
			numbered(`"p%d":{"type":"string","x-kubernetes-validations":[{"rule":"self.size() < 9"}]}`, 2_000) + `}}`), codes: []int{201, 413, 422}},
		{name: "a rule about 20,000 properties", send: define(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string"}`, 20_000) +
			`},"x-kubernetes-validations":[{"rule":"self.p1 != self.p2"}]}`), codes: []int{201, 413, 422}},
		{name: "a message of 2 MB", setup: define(`{"type":"object","properties":{"s":{"type":"string"}},"x-kubernetes-validations":[{"rule":"false",` +
			`"messageExpression":"self.s + '\\u001b' + self.s"}]}`), send: of(`"s":"` + strings.Repeat("a", mega) + `"`), text: "failed rule"},
		{name: "a transition rule on 49,000 numbers", setup: append(define(`{"type":"object","properties":{"l":{"type":"array","maxItems":100000,"items":{"type":"integer"}}},`+
			`"x-kubernetes-validations":[{"rule":"self.l == oldSelf.l"}]}`), of(`"l":[`+repeated("1", 90_000)+`]`)...),
			send: patch(things+"/a", mergeType, `{"l":[`+repeated("1", 89_999)+`,2]}`), codes: []int{200, 422}},
		condition("cubed", `{"name":"c","expression":"object.data.all(a, object.data.all(b, object.data.all(c, true)))"}`, 201),
		condition("squared", `{"name":"c","expression":"object.data.all(a, object.data.all(b, a != b + 'x'))"}`, 201),
		condition("a text that grows", `{"name":"c","expression":"object.data.map(a, a + a + a + a + a).size() > 0"}`, 201),
		condition("the authorizer 1,000 times", `{"name":"c","expression":"[`+repeated("1", 1_000)+`].all(x, authorizer.group('').resource('pods').check('get').allowed())"}`, 201),
		condition("patterns of the object", `{"name":"c","expression":"object.data.all(a, a.matches('(.*k){90}'+a))"}`, 201),
		condition("64 conditions", numbered(`{"name":"c%d","expression":"object.data.all(a, a != 'b')"}`, 64), 201),
		condition("vast quantities", `{"name":"c","expression":"object.data.all(a, quantity('1e9999999' + string(object.data.size())).compareTo(quantity('1')) > 0)"}`, 201, 500),
		condition("a range of 900,000, distinct", `{"name":"c","expression":"lists.range(900000).distinct().size() > 0"}`, 201),
		condition("a text joined with itself", `{"name":"c","expression":"object.data.map(a, object.data.map(b, b).join(a)).size() > 0"}`, 201),
		hook("65 conditions", numbered(`{"name":"c%d","expression":"true"}`, 65)),
		hook("20,000 conditions", numbered(`{"name":"c%d","expression":"true"}`, 20_000)),
		hook("types that double 20 times", `{"name":"c","expression":"[{1: 1}]`+strings.Repeat(".map(a, {a: a})", 20)+`.size() > 0"}`),
		hook("one that does not compile", `{"name":"c","expression":"x"}`),
		hook("one of 2.9 MB", `{"name":"c","expression":"`+strings.Repeat("!", 2_900_000)+`true"}`),
		hook("100,000 parentheses", `{"name":"c","expression":"`+nested("(", "true", ")", 100_000)+`"}`),
	}
}

// columns are JSONPath expressions of columns, and tables with them.
func columns() []row {
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	with := func(path string) []request {
		return post(definitions, definitionWith(`"additionalPrinterColumns":[{"name":"c","type":"string","jsonPath":`+quoted(path)+
			`}],"schema":{"openAPIV3Schema":`+free+`}`))
	}
	deep := nested(`{"a":`, "1", "}", 800)
	var rows []row
	shown := func(name, path, object string) {
		rows = append(rows, row{name: name, setup: append(with(path), post(things, thing("a", object))...),
			send: get(things, "Accept", table), codes: []int{200}})
	}
	refused := func(name, path, text string) { rows = append(rows, row{name: name, send: with(path), text: text}) }
	refused("six descents", "..a..a..a..a..a..a", "at most 1 recursive descent")
	refused("two descents", "..a..a", "at most 1 recursive descent")
	refused("30 joins", "."+strings.Repeat("['a','a']", 30), "commas")
	refused("a range", "{range .a[*]}{end}", "simple json path")
	refused("from the root", "$.a", "simple json path")
	for name, path := range map[string]string{"a path of a megabyte": strings.Repeat(".a", mega/2),
		"a path of brackets": "." + strings.Repeat("[", 100_000)} {
		rows = append(rows, row{name: name, send: with(path), codes: []int{201, 422}})
	}
	for i, path := range []string{".a..b", "..a", "..*", ".a[*].b[*].c[*]", `.a[?(@.b=="x")]`, ".a[0:999999999]", ".a[-1]", ".a[-999999999999]",
		strings.Repeat(".a", 20), `.a["b"]`, ".metadata.labels", ".a[999999999999999999999]", ".a[::0]", ".a[0:10:-1]", ".a[?(@.a)]"} {
		name := fmt.Sprintf("column %d, %.12s", i, strings.ReplaceAll(path, "/", ""))
		rows = append(rows, row{name: name, setup: with(path), send: append(post(things, thing("a", `"a":`+deep)), get(things, "Accept", table)...),
			codes: []int{200, 404}})
	}
	shown("a descent through 900 levels", "..a", `"a":`+nested(`{"a":`, "1", "}", 900))
	shown("a descent through 9,000 keys", "..a", `"b":{`+numbered(`"k%d":{"a":1}`, 9_000)+`}`)
	shown("a descent to everything", "..*", `"b":{`+numbered(`"k%d":{"a":1}`, 9_000)+`}`)
	shown("a descent to everything in 900 levels", "..*", `"a":`+nested(`{"a":`, `["x"]`, "}", 900))
	shown("a filter in a descent", "..[?(@.a)]", `"a":`+nested(`{"a":`, `["x"]`, "}", 900))
	shown("a filter on 30,000 items", ".a[?(@.b==1)].b", `"a":[`+repeated(`{"b":1}`, 30_000)+`]`)
	shown("three joins", ".a['b','b','b']['c','c']", `"a":{"b":{"c":"`+strings.Repeat("x", 100_000)+`"}}`)
	shown("stars of stars", ".a[*][*][*]", `"a":[`+repeated(`[[1,1],[1,1]]`, 14_000)+`]`)
	shown("a slice of 90,000", ".a[::1]", `"a":[`+repeated("1", 90_000)+`]`)
	shown("a cell of 2.9 MB", ".a", `"a":"`+strings.Repeat("x", 2_900_000)+`"`)
	return rows
}
