package expression_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// compile compiles an expression about the variable v.
func compile(t *testing.T, text string) cel.Program {
	t.Helper()
	set, err := expression.Environment().Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("v", cel.DynType)},
		ProgramOptions: append([]cel.ProgramOption{cel.InterruptCheckFrequency(100)},
			environment.StrictCostOpt.ProgramOptions...),
	})
	if err != nil {
		t.Fatal(err)
	}
	env := set.StoredExpressionsEnv()
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", text, issues.Err())
	}
	p, err := env.Program(ast)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// evaluate evaluates an expression, and reports the result as text, or the reason why it ended.
func evaluate(t *testing.T, text string, v any) string {
	t.Helper()
	m := expression.NewMeter(t.Context())
	defer m.Close()
	m.Begin(expression.Terms(text))
	result, _, err := compile(t, text).ContextEval(m.Context(), map[string]any{"v": v, expression.Variable: m})
	switch r := m.Refusal(); {
	case r != nil:
		return "refused: " + r.Error()
	case err != nil:
		return "error: " + err.Error()
	}
	if b, ok := result.Value().(bool); ok && b {
		return "true"
	}
	return "false"
}

// TestLimits checks expressions whose cost Kubernetes underestimates. Each ends within a second.
func TestLimits(t *testing.T) {
	t.Parallel()
	numbers := make([]int64, 99_000)
	long := strings.Repeat("a", 1<<20)
	texts := make([]string, 1_000)
	for i := range texts {
		texts[i] = strings.Repeat("a", 1_000)
	}
	nested := []any{numbers}
	for text, test := range map[string]struct {
		v    any
		want string
	}{
		"v.matches('^(.*a){500}$')":                                                    {long, "refused: a single call would cost"},
		"v.matches('^(.*a){50' + '0}$')":                                               {long, "refused: a single call would cost"},
		"v.find('(.*a){500}b') == ''":                                                  {long, "refused: a single call would cost"},
		"v.findAll('(.*a){500}b').size() == 0":                                         {long, "refused: a single call would cost"},
		"v.findAll('(.*a){500}b', 2).size() == 0":                                      {long, "refused: a single call would cost"},
		"v.findAll(v.substring(0, 1), 2).size() == 2":                                  {long, "true"},
		"v.matches('(.*a){500}b') || true":                                             {long, "refused: a single call would cost"},
		"v.matches('a+$') && v.find('a+') == v":                                        {long[:1<<18], "true"},
		"v.all(x, x.matches('^(.*a){100}$'))":                                          {texts, "error: operation cancelled: actual cost limit exceeded"},
		"quantity('1e' + v).isInteger()  ":                                             {"999999999", "refused: the quantity \"1e999999999\""},
		"isQuantity('1e' + v) || true":                                                 {"999999999", "refused: the quantity \"1e999999999\""},
		"quantity('1e' + v).isInteger()":                                               {"9", "true"},
		"v.indexOf(v.substring(1) + 'b') < 0":                                          {long, "refused: a single call would cost"},
		"v.lastIndexOf('b' + v.substring(1)) < 0":                                      {long, "refused: a single call would cost"},
		"v.indexOf('ab') < 0":                                                          {long, "true"},
		"v.all(x, x != 2)":                                                             {numbers, "refused: the loops of all expressions"},
		"v.exists(x, x == 2)":                                                          {numbers, "refused: the loops of all expressions"},
		"v.map(x, x).size() > 0":                                                       {numbers, "refused: the loops of all expressions"},
		"v.filter(x, x == 2).size() == 0":                                              {numbers, "refused: the loops of all expressions"},
		"v.filter(x, false).size() == 0":                                               {numbers, "refused: the loops of all expressions"},
		"v.exists_one(x, x == 2)":                                                      {numbers, "refused: the loops of all expressions"},
		"v.all(x, x != 2 )":                                                            {numbers[:5_000], "true"},
		"v.all(x, v.all(y, x == y))":                                                   {numbers[:250], "true"},
		"v.filter(x, v.exists(y, x == y)).size() > 0":                                  {numbers[:250], "true"},
		"v[0].all(x, v == v || v != v)":                                                {nested, "error: operation cancelled: actual cost limit exceeded"},
		"v[0].all(x, v in [v])":                                                        {nested, "error: operation cancelled: actual cost limit exceeded"},
		"v[0].all(x, '%s'.format([v]) == '')":                                          {nested, "false"},
		"sets.contains(v, v)":                                                          {numbers, "refused: a single call would cost"},
		"sets.intersects(v, [1, 2, 3]) || true":                                        {numbers[:9_000], "true"},
		"v.indexOf(1) < 0 && sets.equivalent([1], [1])":                                {numbers, "true"},
		"v.matches(v + '(')":                                                           {"a", "error:"},
		"v.replace('a', v).size() > 0":                                                 {long, "refused: a call would make a text of"},
		"v.split('').join(v).size() > 0":                                               {long, "refused: a call would make a text of"},
		"'%s%s'.format([v, v]).size() > 0":                                             {strings.Repeat("a", 9<<20), "refused: a call would make a text of"},
		"v.replace('b', 'cc').size() > 0":                                              {long, "true"},
		"v.findAll('.*b|a').size() >= 0":                                               {long[:300_000], "refused: a single call would cost"},
		"v.findAll('[a-z]+').size() > 0":                                               {"a b c", "true"},
		"[v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v] == [v]":    {numbers, "refused: a single call would cost"},
		"lists.range(900000).distinct().size() > 0":                                    {"", "refused: a single call would cost"},
		"''.matches(v)":                                                                {strings.Repeat("x{1000}", 3_300), "refused: a single call would cost"},
		"v.all(x, v.all(y, x + y > 0)) || v.all(x, v.all(y, x + y < 9))":               {numbers[:200], "true"},
		"v.all(x, x >= 0 && x >= 0 && x >= 0 && x >= 0 && x >= 0 && x >= 0 && x >= 0)": {numbers[:2_000], "true"},
		"v.all(x, x >= 0" + strings.Repeat(" && true", 2_000) + ")":                    {numbers[:5_000], "refused: the loops of all expressions"},
		"v.split(',').all(x, x.matches('^(a|b){1,63}$'))":                              {"a,b,ab", "true"},
		"v.split(',').all(x, quantity(x).isInteger() )":                                {"1,2,3", "true"},
		"v.find('b+').find('b').find('b') == 'b'":                                      {"abba", "true"},
		"(v > 1 ? v : 2) == 2 && (v == 1 ? true : v > 9)":                              {int64(1), "true"},
		"v.startsWith('a') && matches(v, 'a.*') && v != 'b'":                           {"abc", "true"},
	} {
		start := time.Now()
		if got := evaluate(t, text, test.v); !strings.HasPrefix(got, test.want) {
			t.Errorf("%.80s: %s, want %s", text, got, test.want)
		}
		t.Logf("%v %.80s", time.Since(start), text)
	}
}

// A meter adds up the loops of all evaluations, ends with its context, and keeps its refusal.
func TestMeterAddsUp(t *testing.T) {
	t.Parallel()
	p := compile(t, "v.all(x, x != 2)")
	ctx, cancel := context.WithCancel(t.Context())
	m := expression.NewMeter(ctx)
	defer m.Close()
	evaluations := 0
	for ; m.Refusal() == nil && evaluations < 1_000; evaluations++ {
		m.Begin(1)
		_, _, _ = p.ContextEval(m.Context(), map[string]any{"v": make([]int64, 3_000), expression.Variable: m})
	}
	if evaluations < 3 || evaluations > 100 {
		t.Errorf("loops of 3,000 items were refused after %d evaluations, want 3 to 100", evaluations)
	}
	other := expression.NewMeter(ctx)
	defer other.Close()
	cancel()
	if other.Context().Err() == nil || other.Refusal() != nil {
		t.Errorf("after its context: %v, refusal %v; want an ended context and no refusal", other.Context().Err(), other.Refusal())
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][2]int{
		"": {0, 2}, "(": {0, 0}, "abc": {3, 4}, "a{500}": {500, 1_500}, "(.*a){500}": {1_500, 4_000},
		"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$": {60, 200}, "((a{10}){10}){9}": {900, 3_000},
	} {
		if n := expression.Instructions(pattern); n < want[0] || n > want[1] {
			t.Errorf("Instructions(%q) = %d, want %d to %d", pattern, n, want[0], want[1])
		}
	}
}

// TestCompileCost checks that the cost of an expression grows with its length, and with types that double.
func TestCompileCost(t *testing.T) {
	t.Parallel()
	double := func(n int) string { return "[{1: 1}]" + strings.Repeat(".map(a, {a: a})", n) + ".size() > 0" }
	for name, c := range map[string]struct {
		text    string
		allowed bool
	}{
		"short":                   {"self.a > 1", true},
		"long":                    {strings.Repeat("a", 10_001), false},
		"constant keys":           {strings.Repeat("{'a': 1}, ", 100), true},
		"types that double":       {double(8), true},
		"types that double often": {double(9), false},
		"types of 2^100 parts":    {double(100), false},
		"braces in a text":        {"self.a == '" + strings.Repeat("{a: a}", 50) + "'", true},
		"no expression":           {strings.Repeat("{", 1_000), true},
	} {
		if got := expression.CompileCost(c.text) <= expression.MaxCompileCost; got != c.allowed {
			t.Errorf("%s: cost %d, want allowed: %t", name, expression.CompileCost(c.text), c.allowed)
		}
	}
}
