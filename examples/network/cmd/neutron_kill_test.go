package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// cloudMachine is a machine whose networks belong to a project in a real Neutron, which the program reaches
// through a proxy.
type cloudMachine struct {
	*machine
	proxy   *neutrontest.Proxy
	neutron *neutrontest.Server
	project string
}

func newCloudMachine(t *testing.T, server *neutrontest.Server) *cloudMachine {
	t.Helper()
	c := &cloudMachine{
		machine: newMachine(t), proxy: neutrontest.NewProxy(server.URL), neutron: server,
		project: strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")),
	}
	t.Cleanup(c.proxy.Close)
	return c
}

// start starts the program.
func (c *cloudMachine) start() *exec.Cmd {
	c.Helper()
	program := exec.CommandContext(c.Context(), os.Args[0], "--kubeconfig", c.kubeconfig, "--provider", "neutron")
	program.Env = append(os.Environ(), programVariable+"=yes",
		"OS_AUTH_TYPE=none", "OS_ENDPOINT="+c.proxy.URL, "OS_PROJECT_ID="+c.project)
	if err := program.Start(); err != nil {
		c.Fatal(err)
	}
	return program
}

// resources returns the networks and subnets of the project.
func (c *cloudMachine) resources() (networks []gophernetworks.Network, subnets []gophersubnets.Subnet) {
	c.Helper()
	client := c.neutron.Client(c.project)
	networkPages, err := gophernetworks.List(client, gophernetworks.ListOpts{}).AllPages(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	if networks, err = gophernetworks.ExtractNetworks(networkPages); err != nil {
		c.Fatal(err)
	}
	subnetPages, err := gophersubnets.List(client, gophersubnets.ListOpts{}).AllPages(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	if subnets, err = gophersubnets.ExtractSubnets(subnetPages); err != nil {
		c.Fatal(err)
	}
	return networks, subnets
}

// checkDeclared checks that the project contains exactly the declared networks, each once and with one subnet.
func (c *cloudMachine) checkDeclared() {
	c.Helper()
	declared := c.awaitReady()
	networks, subnets := c.resources()
	if len(networks) != len(declared) || len(subnets) != len(declared) {
		c.Errorf("for %d Networks there are %d Neutron networks and %d subnets", len(declared), len(networks),
			len(subnets))
	}
	for _, n := range declared {
		at := slices.IndexFunc(networks, func(real gophernetworks.Network) bool { return real.Name == n.Status.ID })
		if at < 0 {
			c.Errorf("Network %s has no Neutron network", n.Name)
			continue
		}
		of := func(s gophersubnets.Subnet) bool { return s.NetworkID == networks[at].ID }
		if i := slices.IndexFunc(subnets, of); i < 0 || subnets[i].CIDR != n.Spec.CIDR ||
			subnets[i].GatewayIP != n.Spec.Gateway {
			c.Errorf("Network %s with the spec %+v has the subnets %+v", n.Name, n.Spec, subnets)
		}
	}
}

// delete deletes a Network and waits until it is gone.
func (c *cloudMachine) delete(name string) {
	c.Helper()
	if err := c.networks.Delete(c.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	c.awaitGone()
}

// awaitGone waits until there are no Networks.
func (c *cloudMachine) awaitGone() {
	c.Helper()
	for watch := c.watch(); ; c.changes(watch, 1) {
		page, err := c.networks.List(c.Context(), "default", metav1.ListOptions{})
		if err != nil {
			c.Fatal(err)
		}
		if len(page.Items) == 0 {
			return
		}
	}
}

func (c *cloudMachine) patch(name, spec string) {
	c.Helper()
	patch := []byte(`{"spec":` + spec + `}`)
	if _, err := c.networks.Patch(c.Context(), "default", name, "", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
}

// startAndKillAt starts the program, which is killed with SIGKILL at the first request to Neutron that at
// selects: before Neutron receives it or, if afterwards is set, after Neutron has processed it and before it
// answers. The channel is closed when the program has ended.
func (c *cloudMachine) startAndKillAt(at func(neutrontest.Request) bool, afterwards bool) (dead chan struct{}) {
	c.Helper()
	dead = make(chan struct{})
	started := make(chan *exec.Cmd, 1)
	kill := sync.OnceFunc(func() {
		program := <-started
		if err := program.Process.Kill(); err != nil {
			c.Error(err)
		}
		program.Wait() // its error is that it was killed
		close(dead)
	})
	hook := func(q neutrontest.Request) neutrontest.Answer {
		if !at(q) {
			return neutrontest.Answer{}
		}
		kill()
		return neutrontest.Answer{Cut: true}
	}
	if afterwards {
		c.proxy.SetHooks(nil, func(q neutrontest.Request, _ int) neutrontest.Answer { return hook(q) })
	} else {
		c.proxy.SetHooks(hook, nil)
	}
	started <- c.start()
	return dead
}

// killStep is a request of the provider to Neutron.
type killStep struct {
	name string
	// is selects the request.
	is func(q neutrontest.Request) bool
	// made reports whether a network exists before the step; do triggers the request.
	made bool
	do   func(c *cloudMachine)
}

func request(what, filter string) func(neutrontest.Request) bool {
	return func(q neutrontest.Request) bool {
		return strings.HasPrefix(q.What, what) && (filter == "" || q.URL.Query().Has(filter))
	}
}

func declare(c *cloudMachine)       { c.create("a") }
func changeGateway(c *cloudMachine) { c.patch("a", `{"gateway":"10.0.0.9"}`) }
func changeRange(c *cloudMachine)   { c.patch("a", `{"cidr":"192.168.0.0/16","gateway":"192.168.0.1"}`) }

func undeclare(c *cloudMachine) {
	if err := c.networks.Delete(c.Context(), "default", "a", metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}

var killSteps = []killStep{
	{"list what there is", request("GET /v2.0/networks", "description"), true, func(*cloudMachine) {}},
	{"look for the network", request("GET /v2.0/networks", "name"), false, declare},
	{"look for the subnet", request("GET /v2.0/subnets", "description"), false, declare},
	{"create the network", request("POST /v2.0/networks", ""), false, declare},
	{"create the subnet", request("POST /v2.0/subnets", ""), false, declare},
	{"change the gateway", request("PUT /v2.0/subnets/", ""), true, changeGateway},
	{"replace the subnet: remove it", request("DELETE /v2.0/subnets/", ""), true, changeRange},
	{"replace the subnet: make another", request("POST /v2.0/subnets", ""), true, changeRange},
	{"remove the network", request("DELETE /v2.0/networks/", ""), true, undeclare},
}

// killed is a row of the printed table.
type killed struct {
	step, when, left, then string
}

// The program is killed at each kind of request of the provider, before Neutron receives it and after Neutron
// has processed it. The restarted program repairs what was left. The test logs a table of what each kill left
// behind.
func TestProgramKilledAtEachNeutronRequest(t *testing.T) {
	t.Parallel()
	server := neutrontest.ForTest(t)
	var mu sync.Mutex
	var rows []killed
	for _, step := range killSteps {
		for _, afterwards := range []bool{false, true} {
			when := map[bool]string{false: "before", true: "after"}[afterwards]
			t.Run(when+" "+step.name, func(t *testing.T) {
				t.Parallel()
				row := killed{step: step.name, when: when}
				row.left, row.then = newCloudMachine(t, server).killedAt(step, afterwards)
				mu.Lock()
				rows = append(rows, row)
				mu.Unlock()
			})
		}
	}
	t.Cleanup(func() { t.Log(killTable(rows)) })
}

// killedAt kills the program at a step and starts it again. It returns the contents of Neutron after the kill
// and after the restart.
func (c *cloudMachine) killedAt(step killStep, afterwards bool) (left, then string) {
	c.Helper()
	if step.made {
		program := c.start()
		c.create("a")
		c.awaitReady()
		c.kill(program)
	}
	dead := c.startAndKillAt(step.is, afterwards)
	step.do(c)
	<-dead
	c.proxy.SetHooks(nil, nil)
	networks, subnets := c.resources()
	left = fmt.Sprintf("%d networks, %d subnets", len(networks), len(subnets))
	if len(networks) > 1 || len(subnets) > 1 {
		c.Errorf("after the kill Neutron has %s", left)
	}
	again := c.start()
	if step.name == "remove the network" {
		c.awaitGone()
		then = "none"
	} else {
		c.checkDeclared()
		then = "as declared, none when deleted"
		c.delete("a")
	}
	if networks, subnets := c.resources(); len(networks)+len(subnets) > 0 {
		c.Errorf("orphaned: %v, %v", networks, subnets)
	}
	c.kill(again)
	return left, then
}

func killTable(rows []killed) string {
	slices.SortFunc(rows, func(a, b killed) int {
		place := func(k killed) int {
			return slices.IndexFunc(killSteps, func(s killStep) bool { return s.name == k.step })
		}
		return cmp.Or(place(a)-place(b), cmp.Compare(b.when, a.when))
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nkill -9\tat the request to\tleft in Neutron\tafter the restart")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.when, r.step, r.left, r.then)
	}
	w.Flush()
	return b.String()
}
