package garbagecollector_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/trial"
)

// objects creates owners and their dependents, and stops at the first error.
type objects struct {
	ctx     context.Context
	configs client.Resource[*corev1.ConfigMap]
	secrets client.Resource[*corev1.Secret]
	made    map[string]*corev1.ConfigMap
	failed  error
}

// add creates a ConfigMap that has the named owners and blocks their deletion.
func (f *objects) add(name string, owners ...string) {
	if f.failed == nil {
		f.made[name], f.failed = f.configs.Create(f.ctx, &corev1.ConfigMap{ObjectMeta: f.of(name, owners)},
			metav1.CreateOptions{})
	}
}

// addSecret creates a Secret, whose cache may lag behind that of the ConfigMaps.
func (f *objects) addSecret(name string, owners ...string) {
	if f.failed == nil {
		_, f.failed = f.secrets.Create(f.ctx, &corev1.Secret{ObjectMeta: f.of(name, owners)}, metav1.CreateOptions{})
	}
}

func (f *objects) of(name string, owners []string) metav1.ObjectMeta {
	var all []*corev1.ConfigMap
	for _, owner := range owners {
		all = append(all, f.made[owner])
	}
	return metaOwnedBy(name, nil, all)
}

func (f *objects) remove(name string, policy metav1.DeletionPropagation) {
	if f.failed == nil {
		f.failed = f.configs.Delete(f.ctx, "default", name, metav1.DeleteOptions{PropagationPolicy: &policy})
	}
}

// deleteThreeWays creates objects and deletes three owners, each with another propagation policy.
func deleteThreeWays(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	f := &objects{ctx: ctx, made: map[string]*corev1.ConfigMap{},
		configs: client.For[*corev1.ConfigMap](c), secrets: client.For[*corev1.Secret](c)}
	f.add("lasting")
	f.add("first")
	f.add("child", "first")
	f.add("grandchild", "child")
	f.add("shared", "first", "lasting")
	f.add("slow")
	f.add("waited-for", "slow")
	f.addSecret("waited-for", "slow")
	f.add("parent")
	f.add("orphan", "parent")
	f.addSecret("orphan", "parent")
	f.add("all-made")
	time.Sleep(5 * time.Second)
	f.remove("first", metav1.DeletePropagationBackground)
	f.remove("slow", metav1.DeletePropagationForeground)
	f.remove("parent", metav1.DeletePropagationOrphan)
	return f.failed
}

// noPrematureDeletion fails if an object is deleted while its owner exists, or an owner before a dependent
// that it waits for.
func noPrematureDeletion(s bowlinetest.State) error {
	exists := func(name string) bool { return s.Find("ConfigMap", "default", name) != nil }
	secret := func(name string) bool { return s.Find("Secret", "default", name) != nil }
	switch {
	case !exists("all-made"):
		return nil
	case !exists("shared"):
		return errors.New("an object with a remaining owner was deleted")
	case !exists("orphan") || !secret("orphan"):
		return errors.New("an orphaned dependent was deleted")
	case !exists("child") && exists("first"):
		return errors.New("a dependent was deleted before its owner")
	case (exists("waited-for") || secret("waited-for")) && !exists("slow"):
		return errors.New("an owner in foreground deletion was deleted before its dependent")
	}
	return nil
}

func TestDependentsAreDeletedDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Of(garbagecollector.Add)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		s := bowlinetest.Scenario{
			Options: []bowlinetest.Option{trial.Alone()}, Processes: processes,
			Act: deleteThreeWays, Invariants: []func(bowlinetest.State) error{noPrematureDeletion}, Budget: 30,
		}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d collectors", r.Tried(), len(processes))
	}
}
