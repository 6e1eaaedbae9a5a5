package nginx

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// FuzzRender declares an Ingress with any host, path and backend. nginx reads each of them as one word, and finds
// only the directives of the template.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"/", "/a b", `/"; return 200; #`, `/\`, `/\n`, "/$host", "/{}", "/\n\t;", "/'", "/%22", "/a\x00b",
		"/#", "/ä", "*.example.com", "h.com", `*."x`} {
		f.Add(text, text, "default.web.80", false)
		f.Add("h.com", text, "", true)
	}
	f.Fuzz(func(t *testing.T, hostName, path, backendName string, exact bool) {
		kind := networkingv1.PathTypePrefix
		if exact {
			kind = networkingv1.PathTypeExact
		}
		at, refused := placeOf(networkingv1.HTTPIngressPath{Path: path, PathType: &kind})
		if !strings.HasPrefix(path, "/") || refused != nil { // Kubernetes rejects a path without a slash
			return
		}
		h := host{name: hostName, routes: []route{{at.below(), exact, backendName}}}
		r := routing{hosts: []host{{}, h}}
		if backendName != "" {
			r.backends = []backend{{backendName, []netip.AddrPort{netip.MustParseAddrPort("[fd00::1]:80")}}}
		}
		c, err := listening{http: "127.0.0.1:80"}.render(r, func(string) []byte { return nil })
		if err != nil {
			t.Fatal(err)
		}
		statements, err := readConfiguration(c.Text)
		if err != nil {
			t.Fatalf("nginx cannot read %s: %v", c.Text, err)
		}
		var names, locations []string
		for _, words := range statements {
			switch words[0] {
			case "server_name":
				names = append(names, strings.Join(words[1:], "|"))
			case "location":
				locations = append(locations, strings.Join(words[1:], "|"))
			}
			if !slices.Contains(directives, words[0]) {
				t.Errorf("%q %q: got the directive %q", hostName, path, words)
			}
		}
		want := `~^[^.]+\.`
		if !strings.HasPrefix(hostName, "*.") {
			want = hostName
		}
		if len(names) != 2 || !strings.HasPrefix(names[1], want) {
			t.Errorf("%q: got the server names %q", hostName, names)
		}
		place := at.below()
		if exact {
			place = "=|" + place
		}
		if !slices.Contains(locations, place) {
			t.Errorf("%q: got the locations %q", path, locations)
		}
	})
}

// directives are those of the template.
var directives = strings.Fields(`daemon pid error_log worker_processes worker_shutdown_timeout events worker_connections http
	access_log server_tokens default_type server_names_hash_bucket_size server_names_hash_max_size client_max_body_size
	client_body_temp_path proxy_temp_path fastcgi_temp_path uwsgi_temp_path scgi_temp_path proxy_request_buffering
	proxy_buffering proxy_max_temp_file_size proxy_http_version proxy_connect_timeout map default proxy_set_header
	ssl_protocols server listen location return upstream server_name proxy_pass } `)

// readConfiguration splits a configuration into statements as nginx does: words that end in ; or {. The values of a map
// begin with a quoted text, which is replaced by "default".
func readConfiguration(text string) (statements [][]string, err error) {
	var words []string
	depth := 0
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if rest == "" {
			if depth != 0 || len(words) > 0 {
				err = fmt.Errorf("depth %d and words %q at the end", depth, words)
			}
			return statements, err
		}
		switch c := rest[0]; c {
		case '#':
			_, rest, _ = strings.Cut(rest, "\n")
		case ';', '{', '}':
			if c == '}' && len(words) > 0 || c != '}' && len(words) == 0 {
				return nil, fmt.Errorf("unexpected %c after %q", c, words)
			}
			if c == '{' {
				depth++
			}
			if c == '}' {
				if depth--; depth < 0 {
					return nil, fmt.Errorf("one } too many")
				}
			} else {
				statements = append(statements, words)
			}
			words, rest = nil, rest[1:]
		case '"', '\'':
			word, after, ok := readQuoted(rest[1:], c)
			if !ok || after == "" || !strings.ContainsRune(" \t\r\n;{", rune(after[0])) {
				return nil, fmt.Errorf("a quoted word %q is followed by %.10q", word, after)
			}
			if len(words) == 0 && word == "" {
				word = "default"
			}
			words, rest = append(words, word), after
		default:
			end := strings.IndexAny(rest, " \t\r\n;{")
			if end < 0 {
				return nil, fmt.Errorf("unterminated %q", rest)
			}
			words, rest = append(words, rest[:end]), rest[end:]
		}
	}
}

// readQuoted reads a quoted word up to its end.
func readQuoted(text string, quote byte) (word, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return b.String(), text[i+1:], true
		case text[i] != '\\' || i+1 == len(text):
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case '"', '\'', '\\':
			b.WriteByte(text[i])
		case 't', 'r', 'n':
			b.WriteByte(map[byte]byte{'t': '\t', 'r': '\r', 'n': '\n'}[text[i]])
		default:
			b.WriteByte('\\')
			b.WriteByte(text[i])
		}
	}
	return b.String(), "", false
}

// FuzzLog reads lines of nginx's log. A line that has nginx's format consists of the parts of its entry.
func FuzzLog(f *testing.F) {
	for _, line := range []string{"2026/11/22 08:47:37 [notice] 11059#11059: start worker process 11062",
		"2026/11/22 08:47:37 [error] 1#1: *7 open() failed", "nginx: [emerg] unknown directive", "",
		"2026/11/22 08:47:37 [emerg] 99999999999999999999#0: x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e := parseEntry(line)
		if !strings.HasSuffix(line, e.text) || e.level != "" && !strings.Contains(line, "["+e.level+"] ") || e.process < 0 {
			t.Errorf("%q: got %+v", line, e)
		}
		if pid, ok := e.worker("start worker process "); ok && !strings.Contains(line, "start worker process ") {
			t.Errorf("%q: got the worker %d", line, pid)
		}
	})
}
