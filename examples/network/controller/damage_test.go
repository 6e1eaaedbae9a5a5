package controller_test

import (
	"testing"
	"testing/synctest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// If a plane cannot read a Network or its definition, the object still counts as declared: its real network
// remains until the object is deleted.
func TestSweepSkipsUnreadableObjects(t *testing.T) {
	for what, lost := range map[string]object.Key{
		"an object":      "samplecrd.k8s.io/networks/default/a",
		"the definition": "apiextensions.k8s.io/customresourcedefinitions//networks.samplecrd.k8s.io",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal, files := storetest.NewJournal(), &record.Memory{}
				first := begin(t, files, bowline.Options{Storage: journal.Open()})
				loop := first.run(nil, nil)
				first.define()
				n := first.declare("a", "192.168.0.0/16", "192.168.0.1")
				waitIdle()
				first.expectNetworks(n.UID)
				loop.stop()
				if err := first.plane.Close(); err != nil {
					t.Fatal(err)
				}

				storage := &storetest.Damaged{Log: journal.Open(), Keys: []object.Key{lost}}
				restarted := begin(t, files, bowline.Options{Storage: storage, AcceptDamage: true})
				defer restarted.plane.Close()
				defer restarted.run(nil, nil).stop()
				waitIdle()
				restarted.expectNetworks(n.UID)
				if lost.Name() != "a" {
					return
				}
				restarted.delete(v1.SchemeGroupVersion, "a")
				restarted.declare("b", "10.0.0.0/8", "10.0.0.1") // its deletion triggers a sweep
				restarted.delete(v1.SchemeGroupVersion, "b")
				waitIdle()
				restarted.expectNetworks()
			})
		})
	}
}

// begin starts a plane and returns a fixture with the given files.
func begin(t *testing.T, files *record.Memory, o bowline.Options) *fixture {
	t.Helper()
	o.Controllers = []string{bowline.NoControllers}
	plane, err := bowline.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{T: t, plane: plane, client: c, files: files}
}
