package attacks

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Paths of the built-in kinds that these rows attack.
const (
	policies         = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	mutations        = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	policyBindings   = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
	deviceClasses    = "/apis/resource.k8s.io/v1/deviceclasses"
	resourceClaims   = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	resourceSlices   = "/apis/resource.k8s.io/v1/resourceslices"
	signingRequests  = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	trustBundles     = "/apis/certificates.k8s.io/v1/clustertrustbundles"
	podRequests      = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests"
	autoscalersV1    = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	autoscalersV2    = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	limitRangesPath  = "/api/v1/namespaces/default/limitranges"
	volumesPath      = "/api/v1/persistentvolumes"
	runtimeClassPath = "/apis/node.k8s.io/v1/runtimeclasses"
	clusterRoles     = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	roleBindings     = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
	rolesPath        = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
	flowSchemas      = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
	priorityLevels   = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
	storagePath      = "/apis/storage.k8s.io/v1/"
	accessReviews    = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	tokenReviews     = "/apis/authentication.k8s.io/v1/tokenreviews"
	ingresses        = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
	oldIngresses     = "/apis/networking.k8s.io/v1beta1/namespaces/default/ingresses"

	tableType = "application/json;as=Table;g=meta.k8s.io;v=v1"
)

// kinds are attacks on the built-in kinds of the smaller groups, on subresources of pods, and on reviews.
func kinds() []row {
	return slices.Concat(policyKinds(), deviceKinds(), certificateKinds(), autoscalerKinds(), limitKinds(), podKinds(),
		roleKinds(), storageKinds(), networkKinds(), reviewKinds(), commonKinds())
}

// called is an object with a name and more fields.
func called(name, fields string) string { return `{"metadata":{"name":"` + name + `"},` + fields + `}` }

// spec is an object named a with a spec.
func spec(fields string) string { return called("a", `"spec":{`+fields+`}`) }

// policyKinds are admission policies, whose expressions the server compiles, and their bindings.
func policyKinds() []row {
	const constraints = `"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]}`
	policy := func(fields string) []request { return post(policies, spec(constraints+","+fields)) }
	mutation := func(fields string) []request {
		return post(mutations, spec(constraints+`,"reinvocationPolicy":"Never",`+fields))
	}
	const valid = `"validations":[{"expression":"true"}]`
	either := []int{201, 413, 422}
	double := func(name, expression string) row {
		return row{name: "types that double: " + name, send: policy(`"validations":[{"expression":` + quoted(expression) + `}]`)}
	}
	chain := func(first, next string, n int) string {
		return `"variables":[{"name":"v0","expression":` + quoted(first) + `},` +
			numbered(`{"name":"w%d","expression":"1"}`, 1) + `,` + func() string {
			all := make([]string, n)
			for i := range all {
				all[i] = fmt.Sprintf(`{"name":"v%d","expression":%s}`, i+1,
					quoted(strings.ReplaceAll(next, "X", fmt.Sprintf("variables.v%d", i))))
			}
			return strings.Join(all, ",")
		}() + `]`
	}
	rows := []row{
		{name: "400 variables, each of the one before", send: policy(chain("[1]", "X.map(x, x + 1)", 400) + "," + valid), codes: either},
		{name: "400 variables whose types nest", send: policy(chain("[1]", "[X]", 400) + "," + valid), codes: either},
		{name: "30 variables whose types double", send: policy(chain("[1]", "{X: X}", 30) + "," + valid)},
		{name: "60 variables whose types double as optionals", send: policy(chain("[1]", "{?X: optional.of(X)}", 60) + "," + valid)},
		double("transformMapEntry", "[1]"+strings.Repeat(".transformMapEntry(i, x, {x: x})", 25)+".size() > 0"),
		double("comments", "[{1: 1}]"+strings.Repeat(".map(a, {// } \" \n a: a})", 25)+".size() > 0"),
		double("bindings", strings.Repeat("cel.bind(a, {1: 1}, ", 1)+"cel.bind(b, {a: a}, cel.bind(c, {b: b}, cel.bind(d, {c: c}, cel.bind(e, {d: d}, "+
			"cel.bind(f, {e: e}, cel.bind(g, {f: f}, cel.bind(h, {g: g}, cel.bind(i, {h: h}, cel.bind(j, {i: i}, cel.bind(k, {j: j}, cel.bind(l, {k: k}, "+
			"cel.bind(m, {l: l}, cel.bind(n, {m: m}, cel.bind(o, {n: n}, cel.bind(p, {o: o}, cel.bind(q, {p: p}, true)))))))))))))))))"),
		{name: "types that double by conditionals", send: policy(`"validations":[{"expression":` +
			quoted("[{1: 1}]"+strings.Repeat(".map(a, {true ? a : a: a})", 25)+".size() > 0") + `}]`)},
		{name: "500 validations and as many messages", send: policy(`"validations":[` +
			numbered(`{"expression":"object.metadata.name.size() > %[1]d","messageExpression":"'%[1]d' + object.metadata.name"}`, 249) + `]`), codes: either},
		{name: "400 validations of 7 KB that do not compile", send: policy(`"validations":[` + repeated(`{"expression":"`+strings.Repeat("x+", 3_500)+`"}`, 400) + `]`)},
		{name: "400 validations that do not parse", send: policy(`"validations":[` + repeated(`{"expression":"`+strings.Repeat("(", 490)+`"}`, 400) + `]`)},
		{name: "200 nested loops", send: policy(`"validations":[{"expression":` + quoted(nested("[1].all(x, ", "true", ")", 200)) + `}]`), codes: either},
		{name: "patterns of 500,000 states", send: policy(`"validations":[{"expression":"'a'.matches('` + strings.Repeat("x{1000}", 490) + `')"}]`), codes: either},
		{name: "patterns of nested repetitions", send: policy(`"validations":[` +
			numbered(`{"expression":"'%d'.matches('((x{10}){10}){9}y{99}')"}`, 490) + `]`), codes: either},
		{name: "64 match conditions of 1 KB", send: policy(`"matchConditions":[` + numbered(`{"name":"c%d","expression":"`+strings.Repeat("1+", 600)+`1 > 0"}`, 64) +
			`],` + valid), codes: either},
		{name: "45,000 rules of a policy", send: post(policies, spec(`"matchConstraints":{"resourceRules":[`+repeated(`{}`, 45_000)+`]},`+valid))},
		{name: "200 mutations", send: mutation(`"mutations":[` + repeated(`{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/a', `+
			`value: Object{spec: Object.spec{replicas: 1}}}]"}}`, 200) + `]`), codes: either},
		{name: "an apply nested 60 deep", send: mutation(`"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"` +
			func() string {
				text, path := "", "Object"
				for range 60 {
					text, path = text+path+"{a: ", path+".a"
				}
				return text + "1" + strings.Repeat("}", 60)
			}() + `"}}]`), codes: either},
		{name: "mutations with 100 variables", send: mutation(chain("{'a': 1}", "{'a': X}", 100) + `,"mutations":[` +
			repeated(`{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{a: variables.v99}}"}}`, 100) + `]`), codes: either},
		{name: "a policy of 490 expressions with other parameters", setup: policy(`"validations":[` + numbered(`{"expression":"object.metadata.name != '%d'"}`, 490) + `]`),
			send:  patch(policies+"/a", mergeType, `{"spec":{"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}}}`),
			codes: []int{200, 413, 422}},
		{name: "a table of a binding with 9,000 values", setup: post(policyBindings, spec(`"policyName":"a","validationActions":["Deny"],"paramRef":{"parameterNotFoundAction":"Deny",`+
			`"selector":{"matchExpressions":[{"key":"a","operator":"In","values":[`+numbered(`"v%d"`, 9_000)+`]}]}}`)),
			send: get(policyBindings, "Accept", tableType), codes: []int{200}},
		{name: "90,000 actions of a binding", send: post(policyBindings, spec(`"policyName":"a","validationActions":[`+repeated(`"Deny"`, 90_000)+`]`))},
		{name: "a status of 20,000 warnings", setup: policy(valid), send: patch(policies+"/a/status", mergeType, `{"status":{"typeChecking":{"expressionWarnings":[`+
			repeated(`{"fieldRef":"","warning":""}`, 20_000)+`]},"conditions":[`+repeated(`{"type":"a"}`, 8_000)+`]}}`)},
	}
	return rows
}

// deviceKinds are kinds of resource.k8s.io.
func deviceKinds() []row {
	class := func(selectors string) []request { return post(deviceClasses, spec(`"selectors":[`+selectors+`]`)) }
	claim := func(fields string) string { return spec(`"devices":{` + fields + `}`) }
	either := []int{201, 413, 422}
	selector := func(expression string) string { return `{"cel":{"expression":` + quoted(expression) + `}}` }
	many := func(format string, n int) string { // of selectors
		all := make([]string, n)
		for i := range all {
			all[i] = selector(fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	requests := func(selectors func(int) string) string {
		all := make([]string, 32)
		for i := range all {
			subs := make([]string, 8)
			for j := range subs {
				subs[j] = fmt.Sprintf(`{"name":"s%d","deviceClassName":"c","selectors":[%s]}`, j, selectors(8*i+j))
			}
			all[i] = fmt.Sprintf(`{"name":"r%d","firstAvailable":[%s]}`, i, strings.Join(subs, ","))
		}
		return `"requests":[` + strings.Join(all, ",") + `]`
	}
	const slice = `"driver":"d.example.com","pool":{"name":"p","generation":1,"resourceSliceCount":1},"allNodes":true`
	return []row{
		{name: "selectors of 10 KB", send: class(many("%d == 1 || "+strings.Repeat("1+", 4_900)+"1 > 0", 32)), codes: either},
		{name: "selectors with patterns of 100,000 states", send: class(many("'%d'.matches('"+strings.Repeat("x{1000}", 100)+"')", 32)), codes: either},
		{name: "a selector with a pattern of 1,300,000 states", send: class(selector("'a'.matches('" + strings.Repeat("x{1000}", 1_300) + "')")), codes: either},
		{name: "8,192 selectors with patterns", send: post(resourceClaims, claim(requests(func(n int) string {
			return many(fmt.Sprintf("'%d", n)+"-%d'.matches('(x{1000}){3}y{1000}')", 5)
		}))), codes: either},
		{name: "8,192 selectors", send: post(resourceClaims, claim(requests(func(n int) string { return many(fmt.Sprintf("device.driver != '%d", n)+"-%d'", 32) }))), codes: either},
		{name: "a selector whose types double", send: class(selector("[{1: 1}]" + strings.Repeat(".map(a, {a: a})", 25) + ".size() > 0"))},
		{name: "a selector of nested loops", send: class(selector(nested("device.attributes.all(d, ", "true", ")", 300))), codes: either},
		{name: "20,000 requests", send: post(resourceClaims, claim(`"requests":[`+numbered(`{"name":"r%d","exactly":{"deviceClassName":"c"}}`, 20_000)+`]`))},
		{name: "a slice of 30,000 devices", send: post(resourceSlices, spec(slice+`,"devices":[`+repeated(`{"name":"d"}`, 30_000)+`]`))},
		{name: "a step of 0 and vast quantities", send: post(resourceSlices, spec(slice+`,"devices":[{"name":"d","allowMultipleAllocations":true,"capacity":{"c":{"value":"9e999999999",`+
			`"requestPolicy":{"default":"1","validRange":{"min":"-9e99999999","max":"9e999999","step":"1n"}}}}}]`)), codes: []int{400, 413, 422}},
		{name: "a slice of 128 devices, all changed", setup: post(resourceSlices, spec(slice+`,"devices":[`+numbered(`{"name":"d%d","attributes":{"a":{"string":"x"}}}`, 128)+`]`)),
			send: patch(resourceSlices+"/a", mergeType, `{"spec":{"devices":[`+numbered(`{"name":"d%d","attributes":{"a":{"string":"y"}}}`, 15_000)+`]}}`)},
		{name: "10,000 devices in the status of a claim", setup: post(resourceClaims, claim(`"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]`)),
			send: patch(resourceClaims+"/a/status", mergeType, `{"status":{"reservedFor":[`+repeated(`{"resource":"pods","name":"p","uid":"u"}`, 5_000)+
				`],"devices":[`+repeated(`{"driver":"d","pool":"p","device":"x","conditions":[{}]}`, 10_000)+`]}}`)},
		{name: "30,000 results of an allocation", setup: post(resourceClaims, claim(`"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]`)),
			send: patch(resourceClaims+"/a/status", mergeType, `{"status":{"allocation":{"devices":{"results":[`+repeated(`{"request":"r/a","driver":"d"}`, 30_000)+`]}}}}`)},
	}
}

// authorityPEM returns n self-signed authorities in PEM.
func authorityPEM(n int) string {
	public, private, _ := ed25519.GenerateKey(rand.Reader) // never fails
	var out bytes.Buffer
	for i := range n {
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), IsCA: true, BasicConstraintsValid: true,
			NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		if err != nil {
			panic(err)
		}
		pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	return out.String()
}

// rsaRequest returns a certificate request in PEM with an RSA key of a size and an invalid signature.
func rsaRequest(size int) string {
	key := bytes.Repeat([]byte{0xff}, size)
	public, _ := asn1.Marshal(struct {
		N *big.Int
		E int
	}{new(big.Int).SetBytes(key), 65537})
	algorithm := func(last int) pkix.AlgorithmIdentifier {
		return pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, last},
			Parameters: asn1.NullRawValue}
	}
	key[0] = 0x7f // the signature is smaller than the modulus
	der, err := asn1.Marshal(struct {
		Body struct {
			Version int
			Subject pkix.RDNSequence
			Key     struct {
				Algorithm pkix.AlgorithmIdentifier
				Bits      asn1.BitString
			}
			Attributes []asn1.RawValue `asn1:"tag:0,set"`
		}
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{Body: struct {
		Version int
		Subject pkix.RDNSequence
		Key     struct {
			Algorithm pkix.AlgorithmIdentifier
			Bits      asn1.BitString
		}
		Attributes []asn1.RawValue `asn1:"tag:0,set"`
	}{Key: struct {
		Algorithm pkix.AlgorithmIdentifier
		Bits      asn1.BitString
	}{algorithm(1), asn1.BitString{Bytes: public, BitLength: 8 * len(public)}}},
		Algorithm: algorithm(11), Signature: asn1.BitString{Bytes: key, BitLength: 8 * len(key)}})
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

// ed25519Request returns a certificate request in DER with DNS names.
func ed25519Request(private ed25519.PrivateKey, names int) []byte {
	template := &x509.CertificateRequest{}
	for range names {
		template.DNSNames = append(template.DNSNames, "a.b")
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, private)
	if err != nil {
		panic(err)
	}
	return der
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// certificateKinds are requests for certificates, and trust bundles.
func certificateKinds() []row {
	_, private, _ := ed25519.GenerateKey(rand.Reader) // never fails
	csr := func(text, fields string) []request {
		return post(signingRequests, spec(`"signerName":"example.com/a","usages":["any"],"request":"`+base64Of(text)+`"`+fields))
	}
	small := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: ed25519Request(private, 0)}))
	bundle := func(name, text string, codes ...int) row {
		return row{name: "a bundle of " + name, send: post(trustBundles, spec(`"trustBundle":`+quoted(text))), codes: codes}
	}
	podRequest := spec(fmt.Sprintf(`"signerName":"example.com/a","podName":"p","podUID":"u","serviceAccountName":"s","serviceAccountUID":"u","nodeName":"n","nodeUID":"u",`+
		`"maxExpirationSeconds":86400,"stubPKCS10Request":%q`, base64.StdEncoding.EncodeToString(ed25519Request(private, 0))))
	issued := func(name string, change func(*x509.Certificate)) row {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(),
			NotAfter: time.Now().Add(2 * time.Hour)}
		change(template)
		der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
		if err != nil {
			panic(err)
		}
		chain := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		return row{name: "a chain with " + name, setup: post(podRequests, podRequest), send: patch(podRequests+"/a/status", mergeType,
			`{"status":{"certificateChain":`+quoted(chain)+`,"conditions":[{"type":"Issued","status":"True","reason":"r","message":"","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`)}
	}
	return []row{
		{name: "an RSA key of 1.6 MB", send: csr(rsaRequest(800_000), ""), text: "16384"},
		{name: "a request of 120,000 names", send: csr(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: ed25519Request(private, 120_000)})), ""), codes: []int{201, 422}},
		{name: "a request of PEM starts", send: csr(strings.Repeat("-----BEGIN A-----\n", 100_000), "")},
		{name: "90,000 unknown usages", send: csr(small, `,"usages":[`+repeated(`"x"`, 90_000)+`]`)},
		{name: "20,000 conditions of an approval", setup: csr(small, ""), send: patch(signingRequests+"/a/approval", mergeType, `{"status":{"conditions":[`+
			repeated(`{"type":"x","status":"y"}`, 20_000)+`]}}`)},
		{name: "20,000 conditions, all changed", setup: append(csr(small, ""), patch(signingRequests+"/a/status", mergeType, `{"status":{"conditions":[`+
			numbered(`{"type":"t%d","status":"True"}`, 18_000)+`]}}`)...), send: patch(signingRequests+"/a/status", mergeType, `{"status":{"conditions":[`+
			numbered(`{"type":"u%d","status":"False"}`, 18_000)+`]}}`), codes: []int{200, 413, 422}},
		{name: "a certificate of 4,000 in a status", setup: csr(small, ""), send: patch(signingRequests+"/a/status", mergeType,
			`{"status":{"certificate":"`+base64Of(authorityPEM(4_000))+`"}}`), codes: []int{200, 422}},
		bundle("2,500 anchors", authorityPEM(2_500), 201, 422),
		bundle("blocks of another type", strings.Repeat("-----BEGIN A-----\n-----END A-----\n", 30_000)),
		bundle("starts", strings.Repeat("-----BEGIN CERTIFICATE-----\n", 36_000)),
		bundle("starts without ends", strings.Repeat("-----BEGIN A-----\n-----END B-----\n", 30_000)),
		bundle("3 MB", strings.Repeat("-----BEGIN A-----\n", 160_000)),
		issued("6,000 empty names", func(c *x509.Certificate) { c.DNSNames = slices.Repeat([]string{".a..b."}, 6_000) }),
		issued("an address of 70 KB", func(c *x509.Certificate) { c.EmailAddresses = []string{"a@[" + strings.Repeat("\\.", 30_000)} }),
		issued("an address of words", func(c *x509.Certificate) { c.EmailAddresses = []string{strings.Repeat("=?utf-8?q?a?= ", 4_500)} }),
		{name: "30,000 conditions of a pod's request", setup: post(podRequests, podRequest), send: patch(podRequests+"/a/status", mergeType,
			`{"status":{"conditions":[`+repeated(`{"type":"Issued","status":"x"}`, 30_000)+`]}}`)},
	}
}

// autoscalerKinds are HorizontalPodAutoscalers. The annotations of autoscaling/v1 are lists in JSON.
func autoscalerKinds() []row {
	const target = `"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}`
	v1 := func(annotation, value string) string {
		return `{"metadata":{"name":"a","annotations":{"autoscaling.alpha.kubernetes.io/` + annotation + `":` + quoted(value) + `}},"spec":{` + target + `}}`
	}
	a := post(autoscalersV2, spec(target))
	many := `[` + repeated("{}", 990_000) + `]`
	long := make([]string, 9_000)
	for i := range long {
		long[i] = fmt.Sprintf(`{"type":"Object","object":{"metricName":"m%d","targetValue":"1","target":{"kind":"K","name":"n"}}}`, i)
	}
	either := []int{200, 201, 400, 413, 422}
	return []row{
		{name: "990,000 metrics in an annotation", send: post(autoscalersV1, v1("metrics", many)), codes: either},
		{name: "990,000 policies in an annotation", send: post(autoscalersV1, v1("behavior", `{"ScaleUp":{"Policies":`+many+`}}`)), codes: either},
		{name: "990,000 conditions in an annotation", setup: a, send: put(autoscalersV1+"/a/status", v1("conditions", many)), codes: either},
		{name: "990,000 current metrics in an annotation", setup: a, send: put(autoscalersV1+"/a/status", v1("current-metrics", many)), codes: either},
		{name: "20,000 conditions, read in v1", setup: append(a[:1:1], put(autoscalersV1+"/a/status", v1("conditions", `[`+repeated("{}", 20_000)+`]`))...),
			send: get(autoscalersV1 + "/a"), codes: []int{200, 404}},
		{name: "9,000 valid metrics in an annotation", send: post(autoscalersV1, v1("metrics", "["+strings.Join(long, ",")+"]")), codes: either},
		{name: "9,000 metrics, in a table", setup: post(autoscalersV1, v1("metrics", "["+strings.Join(long, ",")+"]")), send: get(autoscalersV2, "Accept", tableType), codes: []int{200}},
		{name: "an annotation of 700,000 levels", send: post(autoscalersV1, v1("metrics", nested(`[`, "", "]", 1_400_000))), codes: either},
		{name: "vast quantities in an annotation", send: post(autoscalersV1, v1("metrics", `[`+repeated(`{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"9e999999999"}}`, 20_000)+`]`)), codes: either},
		{name: "vast quantities in numbers in an annotation", send: post(autoscalersV1, v1("metrics", `[`+repeated(`{"type":"Pods","pods":{"targetAverageValue":9e99999999}}`, 20_000)+`]`)), codes: either},
		{name: "escaped quantities in an annotation", send: post(autoscalersV1, v1("metrics", `[{"type":"Pods","pods":{"targetAverageValue":"\u0039e999999999"}}]`)), codes: either},
		{name: "a vast tolerance in an annotation", send: post(autoscalersV1, v1("behavior", `{"ScaleUp":{"Tolerance":"9e999999999"}}`)), codes: either},
		{name: "a key of 2.9 MB in an annotation", send: post(autoscalersV1, v1("metrics", `[{"`+strings.Repeat("TYPE", 700_000)+`":1}]`)), codes: either},
		{name: "8,000 metrics with selectors", send: post(autoscalersV2, spec(target+`,"metrics":[`+
			repeated(`{"type":"External","external":{"metric":{"name":"m","selector":{"matchLabels":{"a b":"c d"}}},"target":{}}}`, 8_000)+`]`))},
		{name: "negative and vast replicas", send: post(autoscalersV2, spec(`"minReplicas":-2147483648,`+strings.Replace(target, `:1`, `:-2147483648`, 1)))},
	}
}

// limitKinds are LimitRanges, and the pods and claims that LimitRanger compares with them, and quotas.
func limitKinds() []row {
	limits := func(name, items string) request {
		return post(limitRangesPath, called(name, `"spec":{"limits":[`+items+`]}`))[0]
	}
	resources := func(n int) string { return numbered(`"example.com/r%d":"1"`, n) }
	pod := func(n int, container string) []request {
		return post(pods, spec(`"schedulerName":"none","containers":[`+numbered(`{"name":"c%d","image":"i"`+container+`}`, n)+`]`))
	}
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	claim := post(claims, spec(`"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}`))
	thousand := func(items string) []request {
		all := make([]request, 1_000)
		for i := range all {
			all[i] = limits(fmt.Sprintf("l%d", i), items)
		}
		return all
	}
	const some = `{"type":"Container","max":{"cpu":"2"},"default":{"cpu":"1","memory":"1"}},{"type":"Pod","max":{"cpu":"9999999"}},`
	either := []int{201, 400, 403, 413, 422}
	return []row{
		{name: "a LimitRange of 30,000 items", send: []request{limits("a", repeated(`{"type":"Container"}`, 30_000))}},
		{name: "a LimitRange of 19,000 resources", send: []request{limits("a", `{"type":"Container","min":{`+resources(19_000)+`},"max":{`+
			resources(19_000)+`},"default":{`+resources(19_000)+`}}`)}, codes: either},
		{name: "a pod under 1,000 LimitRanges of 50 items", setup: thousand(some + numbered(`{"type":"example.com/t%d","max":{"cpu":"1"}}`, 48)), send: pod(2, ""), codes: either},
		{name: "a pod of 2,000 containers under 1,000 LimitRanges", setup: thousand(strings.TrimSuffix(some, ",")), send: pod(2_000, ""), codes: either},
		{name: "a pod of 200 containers, 15,000 defaults", setup: []request{limits("a", `{"type":"Container","default":{`+resources(15_000)+`}}`)}, send: pod(200, ""), codes: either},
		{name: "a pod of 200 containers, 15,000 minima", setup: []request{limits("a", `{"type":"Container","min":{`+resources(15_000)+`}}`)}, send: pod(200, ""), codes: either},
		{name: "a claim with 15,000 minima", setup: []request{limits("a", `{"type":"PersistentVolumeClaim","min":{"storage":"1",`+resources(15_000)+`}}`)}, send: claim, codes: either},
	}
}

// podKinds are subresources of pods, bindings, and pods that plugins change.
func podKinds() []row {
	pod := func(fields string) []request {
		return post(pods, spec(`"schedulerName":"none","containers":[{"name":"c","image":"i"}]`+fields))
	}
	debug := func(containers string) []request {
		return patch(pods+"/a/ephemeralcontainers", mergeType, `{"spec":{"ephemeralContainers":[`+containers+`]}}`)
	}
	const bindings = "/api/v1/namespaces/default/bindings"
	tolerations := func(format string, n int) string {
		return `"tolerations":[` + numbered(`{"key":"`+format+`","operator":"Exists"}`, n) + `]`
	}
	sized := func(cpu string, n int) string {
		return `"containers":[` + numbered(`{"name":"c%d","image":"i","resources":{"requests":{"cpu":"`+cpu+`"}}}`, n) + `]`
	}
	either := []int{200, 201, 400, 403, 409, 413, 422}
	return []row{
		{name: "4,500 ephemeral containers", setup: pod(""), send: debug(numbered(`{"name":"e%d","image":"i"}`, 4_500)), codes: either},
		{name: "4,000 ephemeral containers, all changed", setup: append(pod(""), debug(numbered(`{"name":"e%d","image":"i"}`, 4_000))...),
			send: debug(numbered(`{"name":"e%d","image":"j"}`, 4_000))},
		{name: "45 ephemeral containers of 2,000 arguments, all changed", setup: append(pod(""), debug(numbered(`{"name":"e%d","image":"i","args":[`+repeated(`"a","b"`, 980)+`]}`, 45))...),
			send: debug(numbered(`{"name":"e%d","image":"i","args":[`+repeated(`"b","b","a"`, 650)+`]}`, 45))},
		{name: "a strategic patch of 4,000 ephemeral containers", setup: append(pod(""), debug(numbered(`{"name":"e%d","image":"i"}`, 4_000))...),
			send: patch(pods+"/a/ephemeralcontainers", strategicType, `{"spec":{"ephemeralContainers":[`+numbered(`{"name":"f%d","image":"i"}`, 4_000)+`]}}`), codes: either},
		{name: "an apply of 3,000 ephemeral containers", setup: pod(""), send: patch(pods+"/a/ephemeralcontainers?fieldManager=m", applyType,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"ephemeralContainers":[`+numbered(`{"name":"e%d","image":"i"}`, 3_000)+`]}}`), codes: either},
		{name: "a resize of 3,000 containers", setup: post(pods, spec(`"schedulerName":"none","automountServiceAccountToken":false,`+sized("1", 3_000))), send: patch(pods+"/a/resize", mergeType,
			`{"spec":{`+sized("2", 3_000)+`}}`), codes: either},
		{name: "a resize to other containers", setup: post(pods, spec(`"schedulerName":"none","automountServiceAccountToken":false,`+sized("1", 3_000))), send: patch(pods+"/a/resize", mergeType,
			`{"spec":{"containers":[`+numbered(`{"name":"d%d","image":"i"}`, 3_000)+`]}}`)},
		{name: "a class and a pod of 14,000 tolerations", setup: post(runtimeClassPath, called("r", `"handler":"h","scheduling":{`+tolerations("a%d", 14_000)+`}`)),
			send: pod(`,"runtimeClassName":"r",` + tolerations("b%d", 14_000)), codes: either},
		{name: "a pod of 20,000 tolerations, updated", setup: pod("," + tolerations("a%d", 20_000)), send: patch(pods+"/a", jsonPatchType,
			`[{"op":"add","path":"/spec/tolerations/0","value":{"key":"b","operator":"Exists"}}]`), codes: either},
		{name: "a pod of 9,000 gates, half of them removed", setup: pod(`,"schedulingGates":[` + numbered(`{"name":"example.com/gate-%d"}`, 9_000) + `]`),
			send: func() []request {
				all := make([]string, 4_500)
				for i := range all {
					all[i] = fmt.Sprintf(`{"name":"example.com/gate-%d"}`, 4_500+i)
				}
				return patch(pods+"/a", mergeType, `{"spec":{"schedulingGates":[`+strings.Join(all, ",")+`]}}`)
			}(), codes: either},
		{name: "a binding of 19,000 labels", setup: pod(""), send: post(bindings, `{"metadata":{"name":"a","labels":{`+numbered(`"k%d":"v"`, 19_000)+`}},"target":{"name":"n"}}`), codes: either},
		{name: "a binding of a pod that climbs", send: post(bindings, called("../../x", `"target":{"name":"n"}`)), codes: []int{400, 404, 422}},
		{name: "a binding of a pod of 2.9 MB", send: post(bindings, called(strings.Repeat("x", 2_900_000), `"target":{"name":"n"}`)), codes: []int{400, 404, 422}},
	}
}

// roleKinds are roles and their bindings, and objects of API Priority and Fairness.
func roleKinds() []row {
	const rule = `{"verbs":["v%d"],"apiGroups":[""],"resources":["r"]}`
	either := []int{200, 201, 400, 413, 422}
	large := make([]request, 25)
	for i := range large {
		large[i] = post(clusterRoles, fmt.Sprintf(`{"metadata":{"name":"r%d","labels":{"x":"y"}},"rules":[%s]}`, i,
			strings.ReplaceAll(numbered(`{"verbs":["v%d-X"],"apiGroups":[""],"resources":["r"]}`, 12_000), "X", fmt.Sprint(i))))[0]
	}
	role := post(clusterRoles, called("a", `"rules":[`+numbered(rule, 12_000)+`]`))
	return []row{
		{name: "a Role of 45,000 empty rules", send: post(rolesPath, called("a", `"rules":[`+repeated("{}", 45_000)+`]`))},
		{name: "a ClusterRole of 12,000 rules, all changed", setup: role, send: patch(clusterRoles+"/a", mergeType, `{"rules":[`+
			strings.ReplaceAll(numbered(rule, 12_000), `["v`, `["w`)+`]}`), codes: either},
		{name: "a strategic patch of 12,000 rules", setup: role, send: patch(clusterRoles+"/a", strategicType, `{"rules":[`+numbered(rule, 12_000)+`]}`), codes: either},
		{name: "an apply of 12,000 rules", setup: role, send: patch(clusterRoles+"/a?fieldManager=m&force=true", applyType,
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"},"rules":[`+strings.ReplaceAll(numbered(rule, 12_000), `["v`, `["w`)+`]}`), codes: either},
		{name: "rules with URLs and resources", send: post(clusterRoles, called("a", `"rules":[`+repeated(`{"verbs":["a"],"nonResourceURLs":[`+repeated(`"/x"`, 900)+`],"resources":["r"]}`, 100)+`]`))},
		{name: "a ClusterRole that aggregates 300,000 rules", setup: large, send: post(clusterRoles, called("a", `"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}`)), codes: either},
		{name: "a table of a RoleBinding of 25,000 subjects", setup: post(roleBindings, called("a", `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[`+
			numbered(`{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u\u001b%d"}`, 24_000)+`]`)), send: get(roleBindings, "Accept", tableType), codes: []int{200}},
		{name: "a FlowSchema of 30,000 wrong subjects", send: post(flowSchemas, spec(`"priorityLevelConfiguration":{"name":"x"},"rules":[{"subjects":[`+
			repeated(`{"kind":"ServiceAccount","serviceAccount":{"name":"A B","namespace":"C D"}}`, 18_000)+`]}]`))},
		{name: "a FlowSchema of rules with all verbs", send: post(flowSchemas, spec(`"priorityLevelConfiguration":{"name":"x"},"rules":[`+repeated(`{"subjects":[{"kind":"User",`+
			`"user":{"name":"u"}}],"resourceRules":[{"verbs":[`+repeated(`"x"`, 300)+`,"*"],"apiGroups":[`+repeated(`"x"`, 300)+`,"*"],"resources":["*"],"clusterScope":true}]}`, 140)+`]`))},
		{name: "negative queues", send: post(priorityLevels, spec(`"type":"Limited","limited":{"nominalConcurrencyShares":-2147483648,"lendablePercent":2147483647,`+
			`"limitResponse":{"type":"Queue","queuing":{"queues":-2147483648,"handSize":-2147483648,"queueLengthLimit":2147483647}}}`))},
	}
}

// storageKinds are volumes and kinds of storage.k8s.io.
func storageKinds() []row {
	volume := func(fields string) string {
		return spec(`"capacity":{"storage":"1"},"accessModes":["ReadWriteOnce"],` + fields)
	}
	csi := func(format string, n int) string {
		return `"csi":{"driver":"d.example.com","volumeHandle":"h","volumeAttributes":{` + numbered(format, n) + `}}`
	}
	terms := func(format string, n int) string {
		return `"nodeAffinity":{"required":{"nodeSelectorTerms":[` + numbered(`{"matchExpressions":[{"key":"`+format+`","operator":"Exists"}]}`, n) + `]}}`
	}
	drivers := func(id string) string {
		return `"drivers":[` + numbered(`{"name":"d%d.example.com","nodeID":"`+id+`"}`, 3_500) + `]`
	}
	either := []int{200, 201, 400, 413, 422}
	update := func(name, before, after string) row {
		return row{name: name, setup: post(volumesPath, volume(before)), send: patch(volumesPath+"/a", mergeType, `{"spec":{`+after+`}}`), codes: either}
	}
	const class = `"provisioner":"p.example.com",`
	return []row{
		{name: "a volume of 19,000 capacities", send: post(volumesPath, spec(`"capacity":{`+numbered(`"example.com/r%d":"-1"`, 19_000)+`}`)), codes: either},
		{name: "a volume of 30,000 wrong terms", send: post(volumesPath, volume(`"nfs":{"server":"s","path":"/"},"nodeAffinity":{"required":{"nodeSelectorTerms":[`+
			repeated(`{"matchExpressions":[{"key":"a b"}]}`, 20_000)+`]}}`))},
		update("a volume of 2,500 attributes, all changed", csi(`"k%d":"v"`, 2_500), csi(`"l%d":"w"`, 2_500)),
		update("a volume of 19,000 attributes, all changed", csi(`"k%d":"v"`, 19_000), csi(`"k%d":"w"`, 19_000)),
		update("a volume of 10,000 terms, all changed", `"nfs":{"server":"s","path":"/"},`+terms("a%d", 10_000), terms("b%d", 10_000)),
		{name: "a CSINode of 3,500 drivers, all changed", setup: post(storagePath+"csinodes", spec(drivers("n"))), send: patch(storagePath+"csinodes/a", mergeType,
			`{"spec":{`+drivers("m")+`}}`)},
		{name: "a StorageClass of 20,000 topologies", send: post(storagePath+"storageclasses", called("a", class+`"allowedTopologies":[`+
			numbered(`{"matchLabelExpressions":[{"key":"k","values":["v%d"]}]}`, 15_000)+`]`)), codes: either},
		{name: "a StorageClass of 19,000 parameters, changed", setup: post(storagePath+"storageclasses", called("a", class+`"parameters":{`+numbered(`"%d":"v"`, 500)+`}`)),
			send: patch(storagePath+"storageclasses/a", mergeType, `{"parameters":{`+numbered(`"k%d":"w"`, 19_000)+`},"mountOptions":[`+repeated(`""`, 50_000)+`]}`)},
		{name: "an attachment of 19,000 attributes, changed", setup: post(storagePath+"volumeattachments", spec(`"attacher":"a","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],`+
			csi(`"k%d":"v"`, 15_000)+`}}`)), send: patch(storagePath+"volumeattachments/a", mergeType, `{"spec":{"source":{"inlineVolumeSpec":{`+csi(`"k%d":"w"`, 15_000)+`}}}}`)},
		{name: "a migration with 30,000 conditions", setup: post("/apis/storagemigration.k8s.io/v1/storageversionmigrations", spec(`"resource":{"resource":"pods"}`)),
			send: patch("/apis/storagemigration.k8s.io/v1/storageversionmigrations/a/status", mergeType, `{"status":{"conditions":[`+repeated(`{"type":"a"}`, 30_000)+`]}}`)},
	}
}

// networkKinds are Ingresses in all versions, and other kinds of networking.k8s.io.
func networkKinds() []row {
	either := []int{200, 201, 400, 404, 413, 422}
	paths := func(path string, n int) string { return `"rules":[{"http":{"paths":[` + repeated(path, n) + `]}}]` }
	const network = "/apis/networking.k8s.io/v1/"
	return []row{
		{name: "an old Ingress of 15,000 paths", send: post(oldIngresses, spec(paths(`{"path":"/a","backend":{"serviceName":"s","servicePort":2147483647}}`, 15_000))), codes: either},
		{name: "a strategic patch of an old Ingress", setup: post(oldIngresses, spec(paths(`{"path":"/a","backend":{"serviceName":"s","servicePort":1}}`, 12_000))),
			send: patch(oldIngresses+"/a", strategicType, `{"spec":{`+paths(`{"path":"/b","backend":{"serviceName":"s","servicePort":"p"}}`, 12_000)+`}}`), codes: either},
		{name: "an Ingress of 20,000 wrong rules", send: post(ingresses, spec(`"rules":[`+repeated(`{"host":"*.*.A"}`, 40_000)+`]`))},
		{name: "a NetworkPolicy of 20,000 blocks", send: post(network+"namespaces/default/networkpolicies", spec(`"podSelector":{},"ingress":[{"from":[`+
			repeated(`{"ipBlock":{"cidr":"1.2.3.4/99","except":["x"]}}`, 15_000)+`]}]`))},
		{name: "a NetworkPolicy of 40,000 exceptions, changed", setup: post(network+"namespaces/default/networkpolicies", spec(`"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":[`+
			repeated(`"10.1.0.0/16"`, 40_000)+`]}}]}]`)), send: patch(network+"namespaces/default/networkpolicies/a", mergeType, `{"spec":{"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":[`+
			repeated(`"10.2.0.1/16"`, 40_000)+`]}}]}]}}`), codes: either},
		{name: "an IPAddress of 253 digits", send: post(network+"ipaddresses", called(strings.Repeat("1", 253), `"spec":{"parentRef":{"resource":"`+strings.Repeat("x", 2*mega)+`"}}`))},
	}
}

// reviewKinds are reviews of tokens and rights.
func reviewKinds() []row {
	review := func(fields string) []request { return post(accessReviews, `{"spec":{`+fields+`}}`) }
	ask := func(fields string) []request {
		return review(`"user":"u","resourceAttributes":{"verb":"get","resource":"pods",` + fields + `}`)
	}
	created := []int{201}
	either := []int{201, 400, 413, 422}
	return []row{
		{name: "a review of 90,000 groups", send: review(`"user":"u","groups":[` + numbered(`"g%d"`, 90_000) + `],"nonResourceAttributes":{"path":"/","verb":"get"}`), codes: created},
		{name: "30,000 wrong label requirements", send: ask(`"labelSelector":{"requirements":[` + repeated(`{"key":"a b","operator":"In"}`, 30_000) + `]}`)},
		{name: "a requirement of 90,000 values", send: ask(`"labelSelector":{"requirements":[{"key":"a","operator":"In","values":[` + numbered(`"v%d"`, 90_000) + `]}]}`), codes: either},
		{name: "a label selector of 2.9 MB", send: ask(`"labelSelector":{"rawSelector":"` + strings.Repeat("a=b,", 725_000) + `a"}`), codes: either},
		{name: "a label selector of a list of 2.9 MB", send: ask(`"labelSelector":{"rawSelector":"a in (` + strings.Repeat("b,", 1_450_000) + `b)"}`), codes: either},
		{name: "a label selector of exclamation marks", send: ask(`"labelSelector":{"rawSelector":"` + strings.Repeat("!", 2_900_000) + `"}`), codes: either},
		{name: "a field selector of 2.9 MB", send: ask(`"fieldSelector":{"rawSelector":"` + strings.Repeat("a=b,", 725_000) + `a"}`), codes: either},
		{name: "a review with 20,000 owners", send: post(accessReviews, `{"metadata":{"ownerReferences":[`+repeated("{}", 20_000)+`]},"spec":{"user":"u","nonResourceAttributes":{"path":"/"}}}`)},
		{name: "a token of 2.9 MB", send: post(tokenReviews, `{"spec":{"token":"`+strings.Repeat("x", 2_900_000)+`"}}`), codes: created},
		{name: "a token with line breaks", send: post(tokenReviews, `{"spec":{"token":"a\r\nX-Remote-User: admin\r\n\u0000"}}`), codes: either},
		{name: "90,000 audiences", send: post(tokenReviews, `{"spec":{"token":"x","audiences":[`+repeated(`"a"`, 90_000)+`]}}`), codes: either},
		{name: "rules in a namespace of 2.9 MB", send: post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"`+strings.Repeat("../", 900_000)+`"}}`), codes: either},
	}
}

// commonKinds are attacks that every kind must withstand.
func commonKinds() []row {
	either := []int{200, 201, 400, 413, 422}
	nulls := `[` + repeated("null", 90_000) + `]`
	null := func(name, path, body string) row {
		return row{name: "null items of " + name, send: post(path, strings.ReplaceAll(body, "NULLS", nulls)), codes: either}
	}
	proto := func(name, path, apiVersion, kind string, field protowire.Number) row {
		item := message(1, message(1, nil))
		body := append(message(metadataField, message(nameField, []byte("a"))), message(2, bytes.Repeat(message(field, item), 24_000))...)
		return row{name: "protobuf: 24,000 items of " + name, send: postAs(path, protobufType, envelope(apiVersion, kind, body)), codes: either}
	}
	const big = `"metadata":{"generateName":"LONG","ownerReferences":[OWNERS],"finalizers":[FINALS]}`
	meta := strings.NewReplacer("LONG", strings.Repeat("x", 500_000), "OWNERS", repeated(`{"apiVersion":"v1","kind":"K","name":"n"}`, 10_000),
		"FINALS", numbered(`"a b %d"`, 20_000)).Replace(big)
	rows := []row{
		null("an Ingress", ingresses, spec(`"rules":NULLS`)),
		null("a ClusterRole", clusterRoles, called("a", `"rules":NULLS`)),
		null("a FlowSchema", flowSchemas, spec(`"rules":NULLS`)),
		null("a slice", resourceSlices, spec(`"driver":"d","pool":{"name":"p","resourceSliceCount":1},"allNodes":true,"devices":NULLS`)),
		proto("a ClusterRole", clusterRoles, "rbac.authorization.k8s.io/v1", "ClusterRole", 1),
		proto("a LimitRange", limitRangesPath, "v1", "LimitRange", 1),
		proto("an autoscaler", autoscalersV2, "autoscaling/v2", "HorizontalPodAutoscaler", 4),
		proto("a slice", resourceSlices, "resource.k8s.io/v1", "ResourceSlice", 6),
		proto("a policy", policies, "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", 3),
		proto("an Ingress", oldIngresses, "networking.k8s.io/v1beta1", "Ingress", 3),
	}
	for _, at := range []string{clusterRoles, trustBundles, resourceClaims, volumesPath} {
		rows = append(rows, row{name: "metadata of " + at[strings.LastIndex(at, "/")+1:], send: post(at, `{`+meta+`}`)})
	}
	return rows
}
