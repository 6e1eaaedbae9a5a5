package neutrontest

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
)

func TestKilledServerComesBackWithWhatItHad(t *testing.T) {
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
