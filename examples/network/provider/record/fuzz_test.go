package record_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

// FuzzRecord reads any record of any network. Its provider reports a fault, or the network that it would write again as
// a record without a fault. No uid names a file outside the folder.
func FuzzRecord(f *testing.F) {
	f.Add("u", []byte(`{"plane":"p","uid":"u","network":"a/b","cidr":"10.0.0.0/8","gateway":"10.0.0.1"}`))
	f.Add("u", []byte(`{"plane":"q","uid":"u","cidr":"10.0.0.0"}`))
	f.Add("../../etc/x", []byte(`{}`))
	f.Add("u", []byte(`{`))
	f.Fuzz(func(t *testing.T, uid string, data []byte) {
		files := &record.Memory{}
		p, err := record.New("p", files)
		if err != nil {
			t.Fatal(err)
		}
		id := types.UID(uid)
		if provider.CheckUID(id) != nil {
			if err := p.Apply(t.Context(), provider.Network{UID: id}); err == nil {
				t.Errorf("a network with the uid %q is written", uid)
			}
			if names, _ := files.List(); len(names) > 0 {
				t.Errorf("the uid %q makes the files %q", uid, names)
			}
			return
		}
		if err := files.Write(provider.ID("p", id)+".json", data); err != nil {
			t.Fatal(err)
		}
		got, err := p.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got.Fault != "" {
			return
		}
		if err := p.Apply(t.Context(), provider.Network{UID: id, CIDR: got.CIDR, Gateway: got.Gateway}); err != nil {
			t.Fatal(err)
		}
		if again, err := p.Get(t.Context(), id); err != nil || again != got {
			t.Errorf("%s is read as %+v, and written again as %+v, %v", data, got, again, err)
		}
	})
}
