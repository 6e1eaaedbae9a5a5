package attacks

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"strings"
	"time"
)

const masters = "system:masters"

// allSecrets is what the clients of the rows about identities ask for.
var allSecrets = get("/api/v1/secrets")[0]

// authentication are certificates and headers that claim an identity.
func authentication() []row {
	rows := append(certificates(), foreignCertificates()...)
	for _, header := range [][]string{
		{"Authorization", "Bearer abc"},
		{"Authorization", "Basic YWRtaW46YWRtaW4="},
		{"X-Remote-User", "admin", "X-Remote-Group", masters},
		{"X-Remote-Extra-Scopes", "all"},
		{"X-Forwarded-Client-Cert", "Subject=\"CN=admin,O=system:masters\""},
		{"X-Forwarded-User", "admin"},
		{"Impersonate-User", "bowline-admin"},
		{"Impersonate-Group", masters},
		{"Impersonate-Uid", "1"},
		{"Impersonate-Extra-A", "b"},
		{"impersonate-user", "bowline-admin"},
		{"Impersonate_User", "bowline-admin"},
	} {
		q := request{method: http.MethodGet, path: allSecrets.path, header: header}
		codes := []int{401, 403}
		if strings.HasPrefix(header[0], "Impersonate-") { // without a user to act as
			codes = []int{400, 401, 403}
		}
		rows = append(rows,
			row{name: header[0] + " " + header[1] + " of nobody", run: as(nobody, q), codes: codes},
			row{name: header[0] + " " + header[1] + " of jane", run: as(jane, q), codes: codes})
	}
	half := request{method: http.MethodGet, path: allSecrets.path,
		header: []string{"Impersonate-Group", strings.Repeat("\"<", 250_000)}}
	return append(rows, row{name: "half a megabyte of a group without a user", run: as(jane, half), codes: []int{400}})
}

// certificates are certificates of the server's own authority.
func certificates() []row {
	of := func(change func(*x509.Certificate)) func(*server) answer {
		return as(func(s *server) *tls.Config {
			by := s.authority()
			return s.with(issue(s.t, &by, change))
		}, allSecrets)
	}
	subject := func(user string, groups ...string) func(*server) answer {
		return of(func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: user, Organization: groups} })
	}
	const day = 24 * time.Hour
	return []row{
		{name: "no certificate", run: as(nobody, allSecrets), codes: []int{401}},
		{name: "a user without groups", run: subject("jane"), codes: []int{403}},
		{name: "a group without a user", run: subject("", masters), codes: []int{401}},
		{name: "the name of a group as user", run: subject(masters, "developers"), codes: []int{403}},
		{name: "a group in another case", run: subject("jane", "System:Masters"), codes: []int{403}},
		{name: "a group with a space", run: subject("jane", masters+" "), codes: []int{403}},
		{name: "a group with NUL", run: subject("jane", masters+"\x00"), codes: []int{401, 403}},
		{name: "groups in one", run: subject("jane", "a,"+masters), codes: []int{403}},
		{name: "system:anonymous", run: subject("system:anonymous"), codes: []int{403}},
		{name: "a user with ESC and a line break", run: subject("\x1b[31m\r\nX-Admin: yes"), codes: []int{401, 403}},
		{name: "a user of 10,000 characters", run: subject(strings.Repeat("x", 10_000)), codes: []int{401, 403}},
		{name: "1,000 groups", run: subject("jane", strings.Split(numbered("g%d", 1000), ",")...), codes: []int{403}},
		{name: "expired", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*day), time.Now().Add(-day)
		})},
		{name: "not yet valid", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.Subject.Organization = []string{masters}
			c.NotBefore, c.NotAfter = time.Now().Add(day), time.Now().Add(2*day)
		})},
		{name: "valid from 9999", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.NotBefore = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
			c.NotAfter = time.Date(9999, 1, 2, 0, 0, 0, 0, time.UTC)
		})},
		{name: "valid from 1950 to 9999", codes: []int{403}, run: of(func(c *x509.Certificate) {
			c.NotBefore = time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)
			c.NotAfter = time.Date(9999, 1, 2, 0, 0, 0, 0, time.UTC)
		})},
		{name: "ends before it begins", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = c.NotAfter, c.NotBefore
		})},
		{name: "for servers only", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.Subject.Organization, c.ExtKeyUsage = []string{masters}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		})},
		{name: "for code signing only", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
		})},
		{name: "an unknown critical extension", codes: []int{401}, run: of(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
		})},
		{name: "an extension of 50 KB", codes: []int{0, 401, 403}, run: of(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Value: make([]byte, 50_000)}}
		})},
		{name: "an extension of a megabyte", codes: []int{0}, run: of(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Value: make([]byte, mega)}}
		})},
		{name: "10,000 names of hosts", codes: []int{0, 401, 403}, run: of(func(c *x509.Certificate) {
			c.DNSNames = strings.Split(numbered("h%d.example.com", 10_000), ",")
		})},
	}
}

// foreignCertificates are certificates of others, and of the server itself.
func foreignCertificates() []row {
	admin := func(c *x509.Certificate) { c.Subject.Organization = []string{masters} }
	by := func(client func(*server) *tls.Config) func(*server) answer { return as(client, allSecrets) }
	return []row{
		{name: "another authority of the same name", codes: []int{401}, run: by(func(s *server) *tls.Config {
			other := newAuthority(s.t, s.authority().certificate.Subject.CommonName)
			return s.with(issue(s.t, &other, admin))
		})},
		{name: "another authority, sent too", codes: []int{401}, run: by(func(s *server) *tls.Config {
			other := newAuthority(s.t, s.authority().certificate.Subject.CommonName)
			return s.with(issue(s.t, &other, admin), other)
		})},
		{name: "another authority beside the server's own", codes: []int{401}, run: by(func(s *server) *tls.Config {
			other := newAuthority(s.t, "other")
			return s.with(issue(s.t, &other, admin), other, s.authority())
		})},
		{name: "signed by itself", codes: []int{401}, run: by(func(s *server) *tls.Config {
			return s.with(issue(s.t, nil, admin))
		})},
		{name: "signed by a client's certificate", codes: []int{401}, run: by(func(s *server) *tls.Config {
			by := s.authority()
			client := issue(s.t, &by, nil)
			return s.with(issue(s.t, &client, admin), client)
		})},
		{name: "the server's own certificate", codes: []int{401}, run: by(func(s *server) *tls.Config {
			config, pair := s.stranger(), s.pair("server.pem")
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &pair, nil
			}
			return config
		})},
		{name: "60 certificates of others in the chain", codes: []int{0, 401, 403}, run: by(func(s *server) *tls.Config {
			by := s.authority()
			var chain []authority
			for range 60 {
				by := newAuthority(s.t, "bowline-ca")
				chain = append(chain, by)
			}
			return s.with(issue(s.t, &by, nil), chain...)
		})},
		{name: "a certificate with the key of another", codes: []int{0}, run: by(func(s *server) *tls.Config {
			by := s.authority()
			stolen := issue(s.t, &by, admin)
			stolen.key = issue(s.t, nil, nil).key
			return s.with(stolen)
		})},
		{name: "a certificate with a changed group", codes: []int{0, 401}, run: by(func(s *server) *tls.Config {
			by := s.authority()
			changed := issue(s.t, &by, func(c *x509.Certificate) { c.Subject.Organization = []string{"system-masters"} })
			raw := strings.Replace(string(changed.certificate.Raw), "system-masters", masters, 1)
			changed.certificate = &x509.Certificate{Raw: []byte(raw)}
			return s.with(changed)
		})},
		{name: "a certificate that is no certificate", codes: []int{0}, run: by(func(s *server) *tls.Config {
			raw := make([]byte, 1000)
			rand.Read(raw)
			return s.with(authority{&x509.Certificate{Raw: raw}, s.authority().key})
		})},
		{name: "a certificate in PEM", codes: []int{0}, run: by(func(s *server) *tls.Config {
			by := s.authority()
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: by.certificate.Raw})
			return s.with(authority{&x509.Certificate{Raw: text}, by.key})
		})},
	}
}

// anonymous are requests without a certificate. Only the health of the server and its version are for everybody.
func anonymous() []row {
	var rows []row
	ask := func(method, path string, codes ...int) {
		rows = append(rows, row{name: method + " " + strings.ReplaceAll(path, "/", "|"), codes: codes,
			run: as(nobody, request{method: method, path: path})})
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/version", "/version/", "/livez?verbose", "/livez/"} {
		ask("GET", path, 200)
	}
	for _, path := range []string{"/livez/ping", "/readyz/damage", "/metrics", "/api", "/apis", "/openapi/v2",
		"/openapi/v3", "/",
		"/debug/pprof/", "/bowline/backup", "/bowline/why", "//livez", "/livez/../api/v1/secrets", "/livez/%2e%2e/metrics",
		"/livez;/../metrics", "/LIVEZ", "/livez%00", "/livez/..%2f..%2fmetrics", "/version/../metrics",
		"/healthz/../version"} {
		ask("GET", path, 401)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"} {
		ask(method, "/livez", 401, 403)
	}
	ask("DELETE", "/version", 401, 403)
	return append(rows, row{name: "70,000 names of checks", codes: []int{200}, run: as(nobody,
		request{method: http.MethodGet, path: "/readyz?verbose" + strings.Repeat("&exclude=a", 70_000)})},
		row{name: "95,000 names of checks", codes: []int{0, 431}, run: speakAs(nobody, // the reset may overtake the answer
			"GET /readyz?verbose"+strings.Repeat("&exclude=abc", 95_000)+" HTTP/1.1\r\nHost: x\r\n\r\n")})
}

// authorization are requests of jane, whom no rule grants anything but discovery.
func authorization() []row {
	var rows []row
	ask := func(method, path string, codes ...int) {
		rows = append(rows, row{name: method + " " + strings.ReplaceAll(path, "/", "|"), codes: codes,
			run: as(jane, request{method: method, path: path})})
	}
	for _, path := range []string{"/api", "/apis", "/api/v1", "/openapi/v2", "/openapi/v3", "/version"} {
		ask("GET", path, 200)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline",
		"/debug/flags/v", "/logs",
		"/bowline/backup", "/bowline/why", "/", "/readyz/damage", "/api/../metrics", "/api/../bowline/backup",
		"/apis/../debug/pprof/heap", "/api/%2e%2e/metrics", "/api/..%2fmetrics",
		"/api/v1/namespaces/default/../../../../metrics",
		"/api//v1/secrets", "//api/v1/secrets", "/api/v1//secrets", "/api/v1/secrets/", "/api/v1/./secrets",
		"/api/v1/secrets%00",
		"/API/v1/secrets", "/api/v1/watch/secrets", "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name=x",
		"/api/v1/secrets;x", "/api/v1/namespaces/default/secrets/x/../../configmaps",
		"/api/v1/events", "/apis/events.k8s.io/v1/events", "/api/v1/nodes",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		"/api/v1/proxy/namespaces/default", "/api/v1/namespaces/default/secrets?watch=true"} {
		ask("GET", path, 403)
	}
	for _, path := range []string{"/openapi/../metrics", "/openapi/../bowline/why", "/openapi/..%5cmetrics",
		"/openapi/v3/../../metrics",
		"/openapi//bowline/backup", "/api/v1\\secrets"} {
		ask("GET", path, 403, 404)
	}
	ask("POST", "/bowline/why", 403)
	ask("POST", "/api", 403)
	ask("PUT", "/openapi/v3", 403)
	ask("POST", "/bowline/backup", 403)
	for _, method := range []string{"DELETE", "POST", "PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "FOO"} {
		ask(method, "/api/v1/secrets", 403)
	}
	for _, header := range []string{"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "X-Original-URL",
		"X-Rewrite-URL"} {
		rows = append(rows, row{name: header, codes: []int{403}, run: as(jane, request{method: http.MethodGet,
			path: allSecrets.path, header: []string{header, "/livez"}})})
	}
	return rows
}
