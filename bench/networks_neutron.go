package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// neutronNetworks compares the Network controller with Neutron's capacity: a program that only creates
// networks with their subnets, with as many concurrent requests as the controller has workers. They
// alternate, each in its own project.
func neutronNetworks() measurement {
	return measurement{
		figures: []figure{{"100 Networks on a real Neutron, of the rate of gophercloud alone", percent, 90}},
		starts:  true,
		most:    2,
		missing: neutrontest.Missing,
		run: func(ctx context.Context, l *lab) (readings []reading, err error) {
			dir, err := os.MkdirTemp(l.dir, "neutron-")
			if err != nil {
				return nil, err
			}
			neutron, err := neutrontest.Start(dir)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, neutron.Stop()) }()
			alone := func() (time.Duration, error) { return gophercloudAlone(ctx, neutron.Client(newProject())) }
			ours := func() (time.Duration, error) { return l.networksOn(ctx, neutron) }
			if _, err := alone(); err != nil { // warm up
				return nil, err
			}
			var theirTime, ourTime time.Duration
			for _, turn := range []struct {
				of  *time.Duration
				run func() (time.Duration, error)
			}{{&theirTime, alone}, {&ourTime, ours}, {&ourTime, ours}, {&theirTime, alone}} {
				took, err := turn.run()
				if err != nil {
					return nil, err
				}
				*turn.of += took
			}
			fmt.Fprintf(os.Stderr, "gophercloud alone: %.1f networks per s; Network controller: %.1f per s\n",
				2*onNeutron/theirTime.Seconds(), 2*onNeutron/ourTime.Seconds())
			return []reading{{Value: 100 * theirTime.Seconds() / ourTime.Seconds()}}, nil
		},
	}
}

// neutronWorkers is the number of networks on which the controller, and gophercloud alone, work concurrently.
const neutronWorkers = 16

// onNeutron is the number of networks created in a turn.
const onNeutron = 100

func newProject() string { return strings.ToLower(rand.Text()) }

// gophercloudAlone creates networks, each with its subnet.
func gophercloudAlone(ctx context.Context, client *gophercloud.ServiceClient) (time.Duration, error) {
	start := time.Now()
	err := drive(ctx, neutronWorkers, onNeutron, func(i int) error {
		n, err := gophernetworks.Create(ctx, client,
			gophernetworks.CreateOpts{Name: fmt.Sprintf("network-%d", i)}).Extract()
		if err != nil {
			return err
		}
		prefix, dhcp := fmt.Sprintf("10.%d.%d", i>>8, i&255), true
		gateway := prefix + ".1"
		return gophersubnets.Create(ctx, client, gophersubnets.CreateOpts{
			NetworkID: n.ID, CIDR: prefix + ".0/24", GatewayIP: &gateway, IPVersion: gophercloud.IPv4,
			EnableDHCP: &dhcp,
		}).Err
	})
	return time.Since(start), err
}

// networksOn declares networks on a new server, whose controller creates them in a Neutron.
func (l *lab) networksOn(ctx context.Context, neutron *neutrontest.Server) (took time.Duration, err error) {
	_, err = withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
		env := []string{"OS_AUTH_TYPE=none", "OS_ENDPOINT=" + neutron.URL, "OS_PROJECT_ID=" + newProject()}
		c, err := s.networkController(ctx, namespace, env, "neutron")
		if err != nil {
			return nil, err
		}
		start := time.Now()
		err = c.declare(ctx, "network", onNeutron, 8)
		took = time.Since(start)
		return nil, errors.Join(err, c.stop())
	})(ctx, l)
	return took, err
}
