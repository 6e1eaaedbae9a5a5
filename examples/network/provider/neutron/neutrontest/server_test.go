package neutrontest

import (
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
)

func TestRestartPreservesDatabase(t *testing.T) {
	t.Parallel()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	server, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := server.Client("project")
	made, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "n"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := networks.Get(t.Context(), client, made.ID).Extract(); err == nil {
		t.Fatal("a killed server answered")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if got, err := networks.Get(t.Context(), client, made.ID).Extract(); err != nil || got.Name != "n" {
		t.Errorf("after the restart: %+v, %v", got, err)
	}
}

// Serve returns an error when its Neutron ends.
func TestServeEndsWithItsNeutron(t *testing.T) {
	t.Parallel()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	server, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	printed := make(chan string, 1)
	ended := make(chan error, 1)
	go func() { ended <- serve(t.Context(), teller(printed), server) }()
	if line := <-printed; !strings.Contains(line, "export OS_AUTH_URL=") {
		t.Errorf("Serve printed %q", line)
	}
	server.Kill()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("Serve returned %v", err)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// teller is an io.Writer that sends what is written to a channel.
type teller chan<- string

func (t teller) Write(text []byte) (int, error) {
	t <- string(text)
	return len(text), nil
}
