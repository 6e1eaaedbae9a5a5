package neutrontest

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

const (
	program = "/usr/bin/neutron-server"
	python  = "/usr/bin/python3"
)

// startTime is the time limit for the start of a Neutron, which takes 3 to 5 s on an idle machine and much
// longer on a busy one.
const startTime = 2 * time.Minute

//go:embed etc
var etc embed.FS

// Missing returns an error if no real Neutron is installed, with the command to install it.
func Missing() error {
	for _, file := range []string{program, python} {
		if _, err := os.Stat(file); err != nil {
			return errors.New("no Neutron is installed: apt-get install -y --no-install-recommends neutron-server")
		}
	}
	return nil
}

// Server is a real Neutron: a process that listens on a port of the loopback interface. The kernel kills the
// server when the process that started it ends. Its methods must not be called concurrently.
type Server struct {
	// URL is its address, as in http://127.0.0.1:9696.
	URL string

	dir     string
	port    *port
	process *process // nil while it is not running
}

// Start starts a Neutron with all its files in dir, which must be empty, and returns when it answers. Unlike
// a Neutron in a cloud it has no default quotas.
func Start(dir string) (*Server, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	port, err := reserve()
	if err != nil {
		return nil, fmt.Errorf("reserve a port for Neutron: %w", err)
	}
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", port.number), dir: dir, port: port}
	if err := s.install(); err != nil {
		return nil, errors.Join(fmt.Errorf("install Neutron in %s: %w", dir, err), port.release())
	}
	if err := s.Restart(); err != nil {
		return nil, errors.Join(err, port.release())
	}
	return s, nil
}

// Client returns a client for a member of a project, which may have any name. Projects are isolated, so each
// test that shares a server uses its own.
func (s *Server) Client(project string) *gophercloud.ServiceClient {
	return s.ClientAs(project, Member)
}

// ClientAs returns a client with a role in a project.
func (s *Server) ClientAs(project, role string) *gophercloud.ServiceClient {
	return NewClient(s.URL, project, role, nil)
}

// Restart starts a killed Neutron with the same port and database, and returns when it answers.
func (s *Server) Restart() error {
	config := func(name string) string { return filepath.Join(s.dir, "etc", name) }
	command := exec.Command(program, "--config-file", config("neutron.conf"), "--config-file", config("ml2_conf.ini"))
	var err error
	if s.process, err = start(command, filepath.Join(s.dir, "server.log")); err != nil {
		return fmt.Errorf("start Neutron: %w", err)
	}
	if err := s.process.await(s.answers, startTime); err != nil {
		s.process.kill()
		return fmt.Errorf("start Neutron at %s: %w", s.URL, err)
	}
	return nil
}

// Kill kills the Neutron (SIGKILL).
func (s *Server) Kill() { s.process.kill() }

// Stop terminates the Neutron (SIGTERM, then SIGKILL) and releases its port. Its files remain.
func (s *Server) Stop() error {
	s.process.stop()
	return s.port.release()
}

// answers returns an error unless the Neutron answers a request that needs its database.
func (s *Server) answers() error {
	request, err := http.NewRequest(http.MethodGet, s.URL+"/v2.0/networks?name=none", nil)
	if err != nil {
		return err
	}
	for header, value := range s.Client("none").MoreHeaders {
		request.Header.Set(header, value)
	}
	client := http.Client{Timeout: startTime / 4}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// install writes the configuration and an empty database.
func (s *Server) install() error {
	for _, dir := range []string{"etc", "state/lock"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
			return err
		}
	}
	templates, err := template.ParseFS(etc, "etc/*")
	if err != nil {
		return err
	}
	for _, t := range templates.Templates() {
		if err := s.configure(t); err != nil {
			return err
		}
	}
	empty, err := database()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "state", "neutron.sqlite"), empty, 0o644)
}

func (s *Server) configure(t *template.Template) error {
	file, err := os.Create(filepath.Join(s.dir, "etc", t.Name()))
	if err != nil {
		return err
	}
	err = t.Execute(file, map[string]any{"Dir": s.dir, "Port": s.port.number})
	return errors.Join(err, file.Close())
}
