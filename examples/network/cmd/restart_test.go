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

// awaitRecords waits until there are real networks for exactly these objects.
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

// The store is memory, so objects end with the server, and real networks do not. The server that comes after it is the
// same one by its id: the program knows the networks of both.
func TestNetworksOfAServerThatHasForgottenThemAreSwept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	program := m.start()
	m.create("a")
	m.create("b")
	m.awaitRecords(m.awaitTrue()...)

	m.kill(program)
	m.restart()
	program = m.start()
	m.awaitRecords()

	m.create("a")
	first := m.awaitTrue()
	m.awaitRecords(first...)

	m.kill(program)
	m.restart()
	m.create("a")
	program = m.start()
	again := m.awaitTrue()
	m.awaitRecords(again...)
	if first[0].Status.ID == again[0].Status.ID {
		t.Errorf("the network of the object that was declared again is still %s", first[0].Status.ID)
	}
	m.kill(program)
}
