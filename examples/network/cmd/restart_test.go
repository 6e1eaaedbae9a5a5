package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

// awaitRecords waits until there are records of exactly these networks.
func (m *machine) awaitRecords(networks ...*v1.Network) {
	m.Helper()
	var want []string
	for _, n := range networks {
		want = append(want, n.Status.ID+".json")
	}
	slices.Sort(want)
	ctx, cancel := context.WithTimeout(m.Context(), 20*time.Second)
	defer cancel()
	folder := record.Dir(m.records)
	err := folder.Watch(ctx, func(string) {
		if found, err := folder.List(); err != nil {
			m.Error(err)
			cancel()
		} else if slices.Equal(found, want) {
			cancel()
		}
	})
	if err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		m.Errorf("the records have not become %q: %v", want, err)
	}
}

// The store is in memory, so the objects are lost when the server restarts, whereas the real networks remain.
// The restarted server has the same identity, so the program removes the networks of the lost objects.
func TestNetworksOfLostObjectsAreSwept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	program := m.start()
	m.create("a")
	m.create("b")
	m.awaitRecords(m.awaitReady()...)

	m.kill(program)
	m.restart()
	program = m.start()
	m.awaitRecords()

	m.create("a")
	first := m.awaitReady()
	m.awaitRecords(first...)

	m.kill(program)
	m.restart()
	m.create("a")
	program = m.start()
	again := m.awaitReady()
	m.awaitRecords(again...)
	if first[0].Status.ID == again[0].Status.ID {
		t.Errorf("the object that was created again has the ID of the old network, %s", first[0].Status.ID)
	}
	m.kill(program)
}
