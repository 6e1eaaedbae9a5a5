package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/client"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
	"github.com/bowline-dev/bowline/internal/seed"
)

// TestNetworksConvergeOverCrashes kills a server with the network controller at random points while a user
// creates, changes and deletes Networks. In the end there is exactly one real network for each declared
// Network, with its specification, and no other.
func TestNetworksConvergeOverCrashes(t *testing.T) {
	t.Parallel()
	t.Run("record", func(t *testing.T) {
		t.Parallel()
		checkNetworksConverge(t, crashCount(t, 6), func(plane, folder string) (provider.Provider, error) {
			return record.New(plane, record.Dir(filepath.Join(folder, "networks")))
		})
	})
	t.Run("bridge", func(t *testing.T) {
		t.Parallel()
		if err := bridge.Probe(); err != nil {
			t.Skipf("real networks are not permitted on this machine: %v", err)
		}
		checkNetworksConverge(t, crashCount(t, 4), func(plane, _ string) (provider.Provider, error) {
			return bridge.New(plane)
		})
	})
}

func checkNetworksConverge(t *testing.T, rounds int, open func(plane, folder string) (provider.Provider, error)) {
	name := filepath.Base(t.Name())
	u := &user{seed: seed.Of(t), folder: t.TempDir(), provider: name, declared: map[string]int{}}
	u.random = rand.New(rand.NewPCG(u.seed, 2<<32))
	defer func() {
		t.Logf("seed %d: %d kills; %d requests acknowledged, %d not answered, of which %d were done; %d networks "+
			"in the end",
			u.seed, rounds, u.acknowledged, u.unanswered, u.done, len(u.declared))
	}()
	if err := u.define(t); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		if err := u.round(t); err != nil {
			t.Fatalf("seed %d, round %d: %v", u.seed, round, err)
		}
	}
	if err := u.converge(t, open); err != nil {
		t.Fatalf("seed %d: %v", u.seed, err)
	}
}

// user declares Networks sequentially and records the acknowledged requests.
type user struct {
	seed             uint64
	random           *rand.Rand
	folder, provider string
	// declared maps the name of each declared Network to a number, which determines its specification. The
	// last number used is numbers.
	declared map[string]int
	numbers  int
	// pending is the name of the Network of an unanswered request, and pendingNumber its number, or 0 for a deletion.
	pending          string
	pendingNumber    int
	acknowledged     int
	unanswered, done int
}

// specOf returns the specification for a number.
func specOf(number int) v1.NetworkSpec {
	return v1.NetworkSpec{CIDR: fmt.Sprintf("10.%d.%d.0/24", number/200, number%200),
		Gateway: fmt.Sprintf("10.%d.%d.1", number/200, number%200)}
}

// start starts a server with the network controller.
func (u *user) start(t *testing.T) (*crashServer, *client.Client, error) {
	server := startCrashServer(t, u.folder, "--controllers=*,network", "--network-provider="+u.provider)
	config, err := server.ready()
	if err != nil {
		return server, nil, err
	}
	c, err := client.New(config)
	return server, c, err
}

func networksOf(c *client.Client) client.Resource[*v1.Network] {
	return client.Of[*v1.Network](c, v1.SchemeGroupVersion.WithResource(v1.Resource))
}

// round starts a server, compares the declared Networks with the user's record, and kills the server after
// some requests and a short delay, while the controller is working.
func (u *user) round(t *testing.T) error {
	server, c, err := u.start(t)
	if err != nil {
		return err
	}
	defer server.kill()
	networks := networksOf(c)
	if err := u.reconcileRecord(t.Context(), networks); err != nil {
		return err
	}
	last := u.random.IntN(8)
	moment := time.Duration(u.random.IntN(40)) * time.Millisecond
	if last == 0 {
		time.AfterFunc(moment, server.kill)
	}
	for n := 1; ; n++ {
		answered, err := u.request(withoutClientLogs(t), networks)
		if !answered || err != nil {
			return err
		}
		if n == last {
			time.AfterFunc(moment, server.kill)
		}
	}
}

// define creates the definition of Networks on a server, and kills the server once the request is
// acknowledged.
func (u *user) define(t *testing.T) error {
	server, c, err := u.start(t)
	if err != nil {
		return err
	}
	defer server.kill()
	text, err := os.ReadFile(filepath.Join("testdata", "examples", "network", "crd", "network.yaml"))
	if err != nil {
		return err
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		return err
	}
	definitions := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	_, err = client.Of[*unstructured.Unstructured](c, definitions).Create(t.Context(), crd, metav1.CreateOptions{})
	return err
}

// request creates, changes or deletes a Network. If the server was killed, answered is false.
func (u *user) request(ctx context.Context, networks client.Resource[*v1.Network]) (answered bool, err error) {
	u.numbers++
	u.pending, u.pendingNumber = fmt.Sprintf("n-%d", u.numbers), u.numbers
	names := slices.Sorted(maps.Keys(u.declared))
	switch choice := u.random.IntN(4); {
	case len(names) < 2 || choice < 2 && len(names) < 8:
		_, err = networks.Create(ctx, &v1.Network{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: u.pending},
			Spec:       specOf(u.pendingNumber),
		}, metav1.CreateOptions{})
	case choice == 2:
		u.pending = names[u.random.IntN(len(names))]
		spec, _ := json.Marshal(map[string]any{"spec": specOf(u.pendingNumber)}) // strings always encode
		_, err = networks.Patch(ctx, metav1.NamespaceDefault, u.pending, "", types.MergePatchType, spec,
			metav1.PatchOptions{})
	default:
		u.pending, u.pendingNumber = names[u.random.IntN(len(names))], 0
		err = networks.Delete(ctx, metav1.NamespaceDefault, u.pending, metav1.DeleteOptions{})
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return true, fmt.Errorf("requesting %s with number %d: %w", u.pending, u.pendingNumber, err)
	}
	if err != nil {
		u.unanswered++
		return false, nil
	}
	u.acknowledged++
	u.recordPending()
	return true, nil
}

// recordPending records the last request as done.
func (u *user) recordPending() {
	if u.pendingNumber == 0 {
		delete(u.declared, u.pending)
	} else {
		u.declared[u.pending] = u.pendingNumber
	}
	u.pending = ""
}

// reconcileRecord compares the declared Networks with the user's record, and determines whether an unanswered request
// was done.
func (u *user) reconcileRecord(ctx context.Context, networks client.Resource[*v1.Network]) error {
	page, err := networks.List(ctx, metav1.NamespaceDefault, metav1.ListOptions{})
	if err != nil {
		return err
	}
	found := map[string]v1.NetworkSpec{}
	for _, n := range page.Items {
		if n.DeletionTimestamp == nil {
			found[n.Name] = n.Spec
		}
	}
	if u.pending != "" {
		spec, declared := found[u.pending]
		if declared == (u.pendingNumber != 0) && (!declared || spec == specOf(u.pendingNumber)) {
			u.done++
			u.recordPending()
		}
		u.pending = ""
	}
	for name, number := range u.declared {
		if spec, declared := found[name]; !declared || spec != specOf(number) {
			return fmt.Errorf("got %s with %v (%t), want the acknowledged %v", name, spec, declared,
				specOf(number))
		}
		delete(found, name)
	}
	for name := range found {
		return fmt.Errorf("%s exists, but no request created it", name)
	}
	return nil
}

// converge starts the last server, and waits until every Network is ready and the real networks match.
func (u *user) converge(t *testing.T, open func(plane, folder string) (provider.Provider, error)) error {
	server, c, err := u.start(t)
	if err != nil {
		return err
	}
	defer server.kill()
	networks := networksOf(c)
	if err := u.reconcileRecord(t.Context(), networks); err != nil {
		return err
	}
	system, err := client.Of[*corev1.Namespace](c,
		corev1.SchemeGroupVersion.WithResource("namespaces")).Get(t.Context(), "", metav1.NamespaceSystem)
	if err != nil {
		return err
	}
	actual, err := open(string(system.UID), u.folder)
	if err != nil {
		return err
	}
	t.Cleanup(func() { // remove the real networks, which outlive the server
		server.kill()
		uids, _ := actual.List(context.Background())
		for _, uid := range uids {
			if err := actual.Delete(context.Background(), uid); err != nil {
				t.Error(err)
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	declared, err := awaitReadyNetworks(ctx, networks)
	if err != nil {
		return err
	}
	return awaitRealNetworks(ctx, actual, declared)
}
