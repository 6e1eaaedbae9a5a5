package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

func TestManyNetworksConverge(t *testing.T) {
	t.Parallel()
	c := newCloudMachine(t, neutrontest.ForTest(t))
	program := c.start()
	const count = 100
	for i := range count {
		c.create(fmt.Sprintf("n-%d", i))
	}
	if got := len(c.awaitReady()); got != count {
		t.Fatalf("%d Networks are ready, want %d", got, count)
	}
	c.checkDeclared()
	c.kill(program)
}

// Neutron is killed with SIGKILL while it creates the first of many networks, and restarted after the
// controller has reported it.
func TestNetworksConvergeAfterNeutronRestarts(t *testing.T) {
	t.Parallel()
	if err := neutrontest.Missing(); err != nil {
		t.Skip(err)
	}
	server, err := neutrontest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := newCloudMachine(t, server)
	half := make(chan struct{})
	var made atomic.Int64
	c.proxy.SetHooks(nil, func(q neutrontest.Request, status int) neutrontest.Answer {
		if strings.HasPrefix(q.What, "POST /v2.0/subnets") && status == http.StatusCreated && made.Add(1) == 5 {
			close(half)
		}
		return neutrontest.Answer{}
	})
	program := c.start()
	const count = 20
	for i := range count {
		c.create(fmt.Sprintf("n-%d", i))
	}
	<-half
	server.Kill()
	c.awaitReason("Unreachable")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := len(c.awaitReady()); got != count {
		t.Fatalf("%d Networks are ready, want %d", got, count)
	}
	c.checkDeclared()
	c.kill(program)
}

// awaitReason waits until the Ready condition of some Network has the reason.
func (c *cloudMachine) awaitReason(reason string) {
	c.Helper()
	watch := c.watch()
	for {
		_, n, err := watch.Next()
		if err != nil {
			c.Fatal(err)
		}
		if ready := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady); ready != nil &&
			ready.Reason == reason {
			return
		}
	}
}
