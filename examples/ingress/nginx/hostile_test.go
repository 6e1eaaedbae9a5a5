package nginx

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// hostileTexts would add directives to a configuration, or change others, if they were not one quoted word. Paths of
// Ingresses may contain them; hosts may not, but a restored backup is not validated again.
var hostileTexts = []string{
	`a";return 200 "pwn`, `a;`, `a}`, `a{`, `a;}`, `a"`, `a'`, `a' {return 200 pwn;}`, `a\`, `a\"`, `a\\"`,
	`a\";return 200 pwn;#`,
	"a\nreturn 200 pwn;", "a\r\nreturn 200 pwn;", "a\n}", "a\t{", `a #`, `#`, `a$host`, `a${host}`, `$`,
	`a$request_uri;`, `a b`, ` a`, "a\x00b",
	"a\x1b[2J", "a\u2028b", "a\u00a0{", "a\xff", `~ ^(.*)$`, `~* .php`, `= a`, `^~ a`, `@named`, `a" { } location "b`,
	`a%22;return%20200;`,
	`a%0areturn 200;`, `include /etc/passwd;`, `a";include "/etc/passwd`, `a"; } server { listen 1234; location "`, `"`,
	`'`, `\`, `\\`, `\n`,
	`;`, `{`, `}`, `{}`, `a` + strings.Repeat(`"`, 100), strings.Repeat(`\`, 101), strings.Repeat("a", 255),
	`lua_package_path "/x`, `a";#`,
	`a"#`, "a\v{", "a\f;", `*.a"b.com`, `*.a;b`, `*.$host`, `*.a\`, "*.a\nb", `*.{`, `_`, `~.*`, `127.0.0.1`, `[::1]`,
	`*`, `*.`, `.a`,
}

// TestHostileTextsAreOneWord renders each text as a path and as a host, and checks that nginx reads the same directives
// as with a plain text.
func TestHostileTextsAreOneWord(t *testing.T) {
	t.Parallel()
	for _, text := range hostileTexts {
		for _, exact := range []bool{false, true} {
			plain, odd := words(t, "h.com", "/plain", exact), words(t, "h.com", "/"+text, exact)
			compare(t, fmt.Sprintf("path %q, exact %t", text, exact), plain, odd, "/plain", "/"+text)
		}
		compare(t, fmt.Sprintf("host %q", text), words(t, "h.com", "/a", false), words(t, text, "/a", false), "h.com", text)
	}
}

// compare checks that two configurations differ in one word only, which is the text.
func compare(t *testing.T, name string, plain, odd []string, before, after string) {
	t.Helper()
	if len(plain) != len(odd) {
		t.Errorf("%s: got %d words, want %d: %q", name, len(odd), len(plain), odd)
		return
	}
	for i := range plain {
		switch {
		case plain[i] == odd[i]:
		case !strings.Contains(plain[i], before):
			t.Errorf("%s: got word %q, want %q", name, odd[i], plain[i])
		case !strings.HasPrefix(after, "*.") && odd[i] != strings.Replace(plain[i], before, after, 1):
			t.Errorf("%s: got word %q, want the text", name, odd[i])
		}
	}
}

// words returns the words of a configuration with a host and a path, but its generation.
func words(t *testing.T, name, path string, exact bool) []string {
	t.Helper()
	c, err := listening{http: "127.0.0.1:80"}.render(routing{
		hosts:    []host{{name: name, routes: []route{{path, exact, "default.web.80"}}}},
		backends: []backend{{"default.web.80", []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:80")}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := tokens(t, c.Text)
	return slices.DeleteFunc(all, func(word string) bool { return word == c.Generation })
}

// tokens splits a text as ngx_conf_read_token does: words are separated by white space, ; { and }; a word in quotes
// ends at the next quote without a backslash, and must be followed by white space, ; { or ).
func tokens(t *testing.T, text string) (all []string) {
	t.Helper()
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.ContainsRune(" \t\r\n", rune(c)):
			i++
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case strings.ContainsRune(";{}", rune(c)):
			depth += strings.Count(string(c), "{") - strings.Count(string(c), "}")
			all = append(all, string(c))
			i++
		default:
			word, n := token(text[i:])
			if n < 0 || depth < 0 {
				t.Errorf("nginx refuses %.80q", text[i:])
				return all
			}
			all = append(all, word)
			i += n
		}
	}
	if depth != 0 {
		t.Errorf("%d blocks are open at the end", depth)
	}
	return all
}

// token returns the first word of a text, and its length with its quotes; -1 if it is invalid.
func token(text string) (word string, n int) {
	quote := text[0]
	if quote != '"' && quote != '\'' {
		quote = 0
	} else {
		n = 1
	}
	var b strings.Builder
	for ; n < len(text); n++ {
		c := text[n]
		switch {
		case c == '\\' && n+1 < len(text):
			n++
			// A backslash is removed before a quote and a backslash; \t, \r and \n are white space; others keep it.
			switch e := text[n]; e {
			case '"', '\'', '\\':
				b.WriteByte(e)
			case 't', 'r', 'n':
				b.WriteByte(map[byte]byte{'t': '\t', 'r': '\r', 'n': '\n'}[e])
			default:
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		case quote != 0 && c == quote:
			if n+1 < len(text) && !strings.ContainsRune(" \t\r\n;{)", rune(text[n+1])) {
				return "", -1
			}
			return b.String(), n + 1
		case quote == 0 && strings.ContainsRune(" \t\r\n;{", rune(c)):
			return b.String(), n
		default:
			b.WriteByte(c)
		}
	}
	return "", -1
}
