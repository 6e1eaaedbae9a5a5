package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// manyMain runs COUNT concurrent clients that each set a label on one ConfigMap, and prints how many succeed.
// With patch, each client sends only its label. With replace, each sends the whole object as read before the
// first write.
//
//	many patch|replace COUNT NAME
func manyMain() {
	count, err := strconv.Atoi(os.Args[2])
	fail(err)
	client, err := kubernetes.NewForConfig(restConfig())
	fail(err)
	race := &race{maps: client.CoreV1().ConfigMaps(metav1.NamespaceDefault), name: os.Args[3]}
	write := map[string]func(context.Context, int) error{"patch": race.patch, "replace": race.replace}[os.Args[1]]
	race.read.Add(count)
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() { race.count(write(context.Background(), i)) })
	}
	group.Wait()
	stored, err := race.maps.Get(context.Background(), race.name, metav1.GetOptions{})
	fail(err)
	fmt.Printf("%d written, %d conflicts, %d labels left\n", race.written.Load(), race.conflicts.Load(),
		len(stored.Labels))
}

type race struct {
	maps corev1.ConfigMapInterface
	name string
	read sync.WaitGroup // done when every client has read

	written, conflicts atomic.Int64
}

func (r *race) patch(ctx context.Context, i int) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"l%d":"x"}}}`, i)
	_, err := r.maps.Patch(ctx, r.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (r *race) replace(ctx context.Context, i int) error {
	current, err := r.maps.Get(ctx, r.name, metav1.GetOptions{})
	r.read.Done()
	fail(err)
	r.read.Wait()
	if current.Labels == nil {
		current.Labels = map[string]string{}
	}
	current.Labels[fmt.Sprintf("l%d", i)] = "x"
	_, err = r.maps.Update(ctx, current, metav1.UpdateOptions{})
	return err
}

func (r *race) count(err error) {
	switch {
	case err == nil:
		r.written.Add(1)
	case apierrors.IsConflict(err):
		r.conflicts.Add(1)
	default:
		fail(err)
	}
}
