package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
)

// awaitReadyNetworks waits until every Network is ready in its current generation and none is being deleted, and
// returns them.
func awaitReadyNetworks(ctx context.Context, networks client.Resource[*v1.Network]) ([]*v1.Network, error) {
	for {
		page, err := networks.List(ctx, metav1.NamespaceDefault, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		waiting := slices.IndexFunc(page.Items, func(n *v1.Network) bool {
			return n.DeletionTimestamp != nil || n.Status.ObservedGeneration != n.Generation ||
				!meta.IsStatusConditionTrue(n.Status.Conditions, v1.ConditionReady)
		})
		if waiting < 0 {
			return page.Items, nil
		}
		changes, err := networks.Watch(ctx, metav1.NamespaceDefault,
			metav1.ListOptions{ResourceVersion: page.ResourceVersion})
		if err != nil {
			return nil, err
		}
		_, _, err = changes.Next()
		changes.Stop()
		if err != nil {
			return nil, fmt.Errorf("waiting for %s, %+v: %w", page.Items[waiting].Name, page.Items[waiting].Status, err)
		}
	}
}

// awaitRealNetworks waits until there is a real network for each declared one, with its specification, and no other.
func awaitRealNetworks(ctx context.Context, actual provider.Provider, declared []*v1.Network) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex // the provider may report changes concurrently
	difference := errors.New("the provider reported no network")
	err := actual.Watch(ctx, func(types.UID) {
		mu.Lock()
		defer mu.Unlock()
		if difference = compareNetworks(actual, declared); difference == nil {
			cancel()
		}
	})
	return errors.Join(err, difference)
}

// compareNetworks returns an error if the real networks differ from the declared ones.
func compareNetworks(actual provider.Provider, declared []*v1.Network) error {
	uids, err := actual.List(context.Background())
	if err != nil {
		return err
	}
	if len(uids) != len(declared) {
		return fmt.Errorf("got %d real networks, want the %d declared ones", len(uids), len(declared))
	}
	for _, n := range declared {
		actual, err := actual.Get(context.Background(), n.UID)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		want := provider.Network{UID: n.UID, CIDR: netip.MustParsePrefix(n.Spec.CIDR),
			Gateway: netip.MustParseAddr(n.Spec.Gateway)}
		if !actual.Matches(want) {
			return fmt.Errorf("real network %s: got %+v, want %+v", n.Name, actual, n.Spec)
		}
	}
	return nil
}
