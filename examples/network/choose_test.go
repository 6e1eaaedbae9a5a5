package network

import (
	"errors"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
)

func TestAutoTakesBridgeWherePermittedElseRecord(t *testing.T) {
	t.Parallel()
	p, why, err := chooseForMachine("plane", t.TempDir(), errors.New("not root"))
	if err != nil || p.Name() != ProviderRecord || !strings.Contains(why, "not root") {
		t.Errorf("where bridge is not permitted: %v, %q, %v", p, why, err)
	}
	for _, name := range []string{ProviderAuto, ""} {
		want := ProviderRecord
		if bridge.Probe() == nil {
			want = ProviderBridge
		}
		if p, why, err := choose(name, "plane", t.TempDir()); err != nil || p.Name() != want || why == "" {
			t.Errorf("provider %q on this machine: %v, %q, %v; want %s", name, p, why, err, want)
		}
	}
}

func TestProviderIsTheOneAskedFor(t *testing.T) {
	t.Parallel()
	if p, _, err := choose(ProviderRecord, "plane", t.TempDir()); err != nil || p.Name() != ProviderRecord {
		t.Errorf("record: %v, %v", p, err)
	}
	switch p, _, err := choose(ProviderBridge, "plane", ""); {
	case bridge.Probe() != nil && (err == nil || !strings.Contains(err.Error(), "not permitted")):
		t.Errorf("bridge, which is not permitted: %v, %v", p, err)
	case bridge.Probe() == nil && (err != nil || p.Name() != ProviderBridge):
		t.Errorf("bridge: %v, %v", p, err)
	}
	if _, _, err := choose("neutron", "plane", ""); err == nil || !strings.Contains(err.Error(), "auto, bridge or record") {
		t.Errorf("an unknown provider: %v", err)
	}
	if _, _, err := choose(ProviderRecord, "no plane", ""); err == nil {
		t.Error("a plane id with a space was taken")
	}
}
