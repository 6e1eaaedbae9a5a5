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

// Names of what is in nginx's folder.
const (
	statusSocket   = "status.sock"
	pidFile        = "nginx.pid"
	certificateDir = "certificates"
)

// drain is how many seconds a worker of an older configuration may take for the requests that it has.
const drain = 60

// Configuration is what a nginx is to be: its nginx.conf, and the other files that this names.
type Configuration struct {
	Text string
	// Files are certificates with their keys, by name in nginx's folder.
	Files map[string][]byte
	// Generation is what the status socket of a nginx with this configuration answers. It follows from the text.
	Generation string
}

// listening are the addresses of a nginx, as it writes them; empty for none.
type listening struct{ http, https string }

// Sites are what the template writes of a routing.
type (
	sites struct {
		HTTP, HTTPS string
		Hosts       []hostText
		Backends    []backendText
		// Default says that a host without a name has a certificate; else HTTPS for unknown hosts is refused.
		Default bool
	}
	hostText struct {
		Any                     bool
		ServerName, Certificate string
		Routes                  []routeText
		All                     bool // some route has what no other has
	}
	routeText struct {
		Path    string
		Exact   bool
		Down    bool   // it has no server
		Backend string // empty for none
	}
	backendText struct {
		Name    string
		Servers []netip.AddrPort
	}
)

// render writes the configuration of a routing, with the content of its certificates. Equal routings make equal texts.
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
		"Controller": ControllerName, "Drain": drain, "StatusSocket": statusSocket, "Generation": generation, "Sites": body.String(),
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
			text.Routes = append(text.Routes, routeText{quote(short), true, ok && found.backend == "", upstreamName(found.backend)})
		}
	}
	return text
}

// has says whether there is an exact route for a path. nginx answers /x with a redirect to an exact /x/ unless there is one.
func (h host) has(path string) bool {
	return slices.ContainsFunc(h.routes, func(r route) bool { return r.exact && r.path == path })
}

// below is the route of a path that no exact one matches, if any.
func (h host) below(path string) (longest route, ok bool) {
	for _, r := range h.routes {
		if !r.exact && strings.HasPrefix(path, r.path) && len(r.path) > len(longest.path) {
			longest, ok = r, true
		}
	}
	return longest, ok
}

// serverName is a host for nginx. A wildcard of Kubernetes stands for one label, one of nginx for any number, so it becomes
// a regular expression.
func serverName(host string) string {
	if parent, ok := strings.CutPrefix(host, "*."); ok {
		return quote(`~^[^.]+\.` + regexp.QuoteMeta(parent) + `$`)
	}
	return quote(host)
}

// quote makes one word of a text, whatever is in it. nginx reads no variables in what is quoted here: paths and server names.
func quote(s string) string { return `"` + escapes.Replace(s) + `"` }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// upstreamName is the name of a backend, of which names of Kubernetes have nothing to leave out.
func upstreamName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, name)
}
