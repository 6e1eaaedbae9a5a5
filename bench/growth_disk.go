package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// onDisk measures durable commits, the start from disk, and requests to a plane that was started from disk.
func (c costs) onDisk(ctx context.Context, n int, folder string) error {
	if err := c.fillDisk(ctx, n, folder); err != nil {
		return err
	}
	runtime.GC()
	if err := c.loadDisk(ctx, folder); err != nil {
		return err
	}
	runtime.GC()
	return c.planeOnDisk(ctx, n, folder)
}

// fillDisk writes the objects with many concurrent writers, who share each sync.
func (c costs) fillDisk(ctx context.Context, n int, folder string) error {
	s, err := openDisk(ctx, folder)
	if err != nil {
		return err
	}
	const updates = 5_000
	_, err = s.commitRange(ctx, 2_000, 0, n, store.Absent())
	if err == nil {
		var took time.Duration
		took, err = s.commitRange(ctx, 64, n-min(n, updates), min(n, updates), store.Anything())
		c.in(time.Microsecond, "commit, on disk, 64 writers", took/time.Duration(min(n, updates)))
	}
	return errors.Join(err, s.Close())
}

func (c costs) loadDisk(ctx context.Context, folder string) error {
	start := time.Now()
	s, err := openDisk(ctx, folder)
	if err != nil {
		return err
	}
	c.in(time.Millisecond, "start from disk, the store", time.Since(start))
	return s.Close()
}

func openDisk(ctx context.Context, folder string) (*filledStore, error) {
	l, err := disk.Open(folder, disk.Options{})
	if err != nil {
		return nil, err
	}
	return openStore(ctx, l)
}

// planeOnDisk starts a plane on the folder, and measures requests to it and its forks.
func (c costs) planeOnDisk(ctx context.Context, n int, folder string) error {
	start := time.Now()
	l, err := disk.Open(folder, disk.Options{})
	if err != nil {
		return err
	}
	plane, err := bowline.Start(ctx, bowline.Options{Storage: l})
	if err != nil {
		return err
	}
	defer plane.Close()
	if err := firstAnswer(ctx, plane); err != nil {
		return err
	}
	c.in(time.Millisecond, "start from disk, until the plane's first answer", time.Since(start))

	start = time.Now()
	fork, err := plane.Fork(ctx)
	if err != nil {
		return err
	}
	err = firstAnswer(ctx, fork)
	c.in(time.Millisecond, "fork of a plane, until its first answer", time.Since(start))
	if err := errors.Join(err, fork.Close()); err != nil {
		return err
	}
	return c.requests(ctx, plane, n)
}

// firstAnswer reads an object from a plane.
func firstAnswer(ctx context.Context, plane *bowline.Plane) error {
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, configMapName(0), metav1.GetOptions{})
	return err
}

// requests measures the requests of a single client.
func (c costs) requests(ctx context.Context, plane *bowline.Plane, n int) error {
	const times = 2_000
	config := plane.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps("default")
	start := time.Now()
	for i := range times {
		if _, err := maps.Get(ctx, configMapName(i*7919%n), metav1.GetOptions{}); err != nil {
			return err
		}
	}
	c.in(time.Microsecond, "get by a client in process, on disk", time.Since(start)/times)
	start = time.Now()
	for i := range times {
		cm := configMap(i)
		cm.Name = fmt.Sprintf("new-%d", i)
		if _, err := maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	c.in(time.Microsecond, "create by a client in process, on disk", time.Since(start)/times)
	return nil
}
