package main

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
)

// million is the number of objects in a very full server.
const million = 1_000_000

// millionObjects fills a server, in memory or on disk, over HTTP with 16 clients, and measures the cost.
func millionObjects(keeps bool) measurement {
	medium := ""
	if keeps {
		medium = ", on disk"
	}
	return measurement{
		figures: []figure{
			{"1 M ConfigMaps of 1 KiB: live heap" + medium, mebibytes, 1.75 * 1024},
			{"1 M ConfigMaps of 1 KiB: RssAnon" + medium, mebibytes, 3 * 1024},
			{"1 M ConfigMaps of 1 KiB: create rate against that at 10,000" + medium, percent, 80},
		},
		starts: true,
		most:   1,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			lab := *l
			lab.keeps = keeps
			return withServer(fillMillion)(ctx, &lab)
		},
	}
}

func fillMillion(ctx context.Context, s *server, namespace string) ([]reading, error) {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	f := filler{client: client, namespace: namespace}
	few, many, err := f.rates(ctx)
	if err != nil {
		return nil, err
	}
	heap, err := s.liveHeap(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	anonymous, err := s.process.anonymousMemory()
	return []reading{{Value: heap}, {Value: anonymous}, {Value: 100 * many / few}}, err
}

// filler creates ConfigMaps.
type filler struct {
	client    kubernetes.Interface
	namespace string
	created   int
}

// sampled is the number of creates over which a rate is measured.
const sampled = 20_000

// rates fills the server and returns the creates per second at 10,000 objects and at a million.
func (f *filler) rates(ctx context.Context) (few, many float64, err error) {
	if err := f.create(ctx, 10_000); err != nil {
		return 0, 0, err
	}
	for f.created < million {
		start, before := time.Now(), f.created
		if err := f.create(ctx, min(sampled, million-before)); err != nil {
			return 0, 0, err
		}
		many = float64(f.created-before) / time.Since(start).Seconds()
		if few == 0 {
			few = many
		}
	}
	return few, many, nil
}

func (f *filler) create(ctx context.Context, n int) error {
	create := createConfigMap(ctx, f.client, f.namespace)
	if err := drive(ctx, 16, n, func(i int) error { return create(f.created + i) }); err != nil {
		return err
	}
	f.created += n
	return nil
}
