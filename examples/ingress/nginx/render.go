package nginx

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed nginx.conf.tmpl
var configurationText string

var configurationTemplate = template.Must(
	template.New("nginx.conf").Funcs(template.FuncMap{"socket": socketOptions}).Parse(configurationText))

// Names of files in nginx's folder.
const (
	statusSocket   = "status.sock"
	pidFile        = "nginx.pid"
	certificateDir = "certificates"
)

// drain is the time, in seconds, after which nginx ends a worker of an older configuration.
const drain = 60

// Configuration is the configuration of an nginx: its nginx.conf and the files that it refers to.
type Configuration struct {
	Text string
	// Files contains certificates with their keys, by name in nginx's folder.
	Files map[string][]byte
	// Generation is a hash of the text, which the status socket of an nginx with this configuration returns.
	Generation string
}

// listening contains the addresses in nginx's syntax; empty for none.
type listening struct{ http, https string }

// The types of the template's data.
type (
	sites struct {
		HTTP, HTTPS string
		Hosts       []hostText
		Backends    []backendText
		// Default means that the host without a name has a certificate. Otherwise HTTPS for unknown hosts is
		// refused.
		Default bool
	}
	hostText struct {
		Any                     bool
		ServerName, Certificate string
		Routes                  []routeText
		All                     bool // a route matches all paths
	}
	routeText struct {
		Path    string
		Exact   bool
		Down    bool   // the backend has no servers
		Backend string // empty for none
	}
	backendText struct {
		Name    string
		Servers []netip.AddrPort
	}
)

// render returns the configuration of a routing, with the content of its certificates. Equal routings produce
// equal texts.
func (l listening) render(r routing, content func(certificate string) []byte) (Configuration, error) {
	files := map[string][]byte{}
	s := sites{HTTP: l.http, HTTPS: l.https}
	for _, h := range r.hosts {
		if l.https == "" {
			h.certificate = ""
		}
		if h.certificate != "" {
			files[h.certificate] = content(h.certificate)
		}
		s.Hosts = append(s.Hosts, textOf(h))
		s.Default = s.Default || h.name == "" && h.certificate != ""
	}
	for _, b := range r.backends {
		s.Backends = append(s.Backends, backendText{upstreamName(b.name), b.servers})
	}
	var body, whole strings.Builder
	if err := configurationTemplate.ExecuteTemplate(&body, "sites", s); err != nil {
		return Configuration{}, fmt.Errorf("write nginx's configuration: %w", err)
	}
	sum := sha256.Sum256([]byte(body.String()))
	generation := hex.EncodeToString(sum[:])
	err := configurationTemplate.Execute(&whole, map[string]any{
		"Controller": ControllerName, "Drain": drain, "StatusSocket": statusSocket, "Generation": generation,
		"Sites": body.String(),
	})
	if err != nil {
		return Configuration{}, fmt.Errorf("write nginx's configuration: %w", err)
	}
	return Configuration{Text: whole.String(), Files: files, Generation: generation}, nil
}

func textOf(h host) hostText {
	text := hostText{Any: h.name == "", ServerName: serverName(h.name), Certificate: h.certificate}
	for _, r := range h.routes {
		text.Routes = append(text.Routes, routeText{quote(r.path), r.exact, r.backend == "", upstreamName(r.backend)})
		text.All = text.All || r.path == "/" && !r.exact
		if short := strings.TrimSuffix(r.path, "/"); r.exact && short != r.path && short != "" && !h.has(short) {
			found, ok := h.below(short)
			text.Routes = append(text.Routes,
				routeText{quote(short), true, ok && found.backend == "", upstreamName(found.backend)})
		}
	}
	return text
}

// has reports whether the host has an exact route for a path. Without one for /x, nginx redirects /x to an
// exact /x/.
func (h host) has(path string) bool {
	return slices.ContainsFunc(h.routes, func(r route) bool { return r.exact && r.path == path })
}

// below returns the route with the longest prefix of a path, if there is one.
func (h host) below(path string) (longest route, ok bool) {
	for _, r := range h.routes {
		if !r.exact && strings.HasPrefix(path, r.path) && len(r.path) > len(longest.path) {
			longest, ok = r, true
		}
	}
	return longest, ok
}

// serverName returns a host in nginx's syntax. A wildcard in Kubernetes matches one label, and one in nginx
// any number, so it becomes a regular expression.
func serverName(host string) string {
	if parent, ok := strings.CutPrefix(host, "*."); ok {
		return quote(`~^[^.]+\.` + regexp.QuoteMeta(parent) + `$`)
	}
	return quote(host)
}

// quote quotes a text for nginx. nginx expands no variables in the texts that are quoted here: paths and
// server names.
func quote(s string) string { return `"` + escapes.Replace(s) + `"` }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// upstreamName returns a backend's name without characters that are special to nginx, which names in
// Kubernetes do not contain.
func upstreamName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, name)
}
