package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/controller"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

// effects makes each file write a point at which Explore may inject a fault.
type effects struct {
	ctx context.Context // of the process
	*record.Memory
}

func (e effects) Write(name string, data []byte) error {
	return bowlinetest.Effect(e.ctx, "write "+name, func() error { return e.Memory.Write(name, data) })
}

func (e effects) Remove(name string) error {
	return bowlinetest.Effect(e.ctx, "remove "+name, func() error { return e.Memory.Remove(name) })
}

// process runs the controller with the record provider.
func process(ctx context.Context, config *rest.Config) error {
	p, err := record.New(planeID, effects{ctx, bowlinetest.ExternalSystem[*record.Memory](ctx)})
	if err != nil {
		return err
	}
	c, err := controller.New(controller.Options{Config: config, Provider: p, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	c.Run(ctx)
	return nil
}

// networksOf returns a client of the Networks.
func networksOf(config *rest.Config) (client.Resource[*v1.Network], error) {
	c, err := client.New(config)
	if err != nil {
		return client.Resource[*v1.Network]{}, err
	}
	return client.Of[*v1.Network](c, v1.SchemeGroupVersion.WithResource(v1.Resource)), nil
}

// pause is the time between a user's actions. It coincides with no delay of a restart or retry: State.External may be
// later than the objects of a commit at the same instant.
const pause = 5300 * time.Millisecond

// declareAndChange creates two networks, changes one and deletes the other.
func declareAndChange(ctx context.Context, config *rest.Config) error {
	networks, err := networksOf(config)
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		n := &v1.Network{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       v1.NetworkSpec{CIDR: "192.168.0.0/16", Gateway: "192.168.0.1"},
		}
		if _, err := networks.Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(pause)
	patch := []byte(`{"spec":{"cidr":"10.0.0.0/8","gateway":"10.0.0.1"}}`)
	if _, err := networks.Patch(ctx, "default", "a", "", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return err
	}
	time.Sleep(pause)
	return networks.Delete(ctx, "default", "b", metav1.DeleteOptions{})
}

// contents returns all files, for Scenario.Snapshot.
func contents(system any) any {
	files := system.(*record.Memory)
	names, _ := files.List() // files in memory: it does not fail
	all := map[string]json.RawMessage{}
	for _, name := range names {
		all[name], _ = files.Read(name)
	}
	return all
}

// readyIsReal returns an error if a Network is ready but has no record.
func readyIsReal(s bowlinetest.State) error {
	for _, n := range s.Kind(v1.Kind) {
		conditions, _, _ := unstructured.NestedSlice(n.Object, "status", "conditions")
		if len(conditions) == 0 || n.GetDeletionTimestamp() != nil ||
			conditions[0].(map[string]any)["status"] != "True" {
			continue
		}
		if _, ok := s.External.(map[string]json.RawMessage)[file(n.GetUID())]; !ok {
			return fmt.Errorf("network %s is ready, but does not exist", n.GetName())
		}
	}
	return nil
}

// After any single fault the real networks match the declared ones.
func TestExploreRecordController(t *testing.T) {
	t.Parallel()
	r := bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:        []bowlinetest.Option{bowlinetest.CRDs("../crd/network.yaml")},
		ExternalSystem: func() any { return &record.Memory{} },
		Processes:      []bowlinetest.Process{{Name: "network", Run: process}},
		Act:            declareAndChange,
		Invariants:     []func(bowlinetest.State) error{readyIsReal},
		ExternalState:  contents,
	})
	if r.Tried() < 80 { // of those that a run reached, which depends on how busy the machine is
		t.Errorf("only %d fault points were tried; no run reached %q", r.Tried(), r.Unreached)
	}
}
