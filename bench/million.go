package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// million is how many objects a server has that is very full.
const million = 1_000_000

// millionObjects fills a server over HTTP with 16 clients, and measures what that costs and what it is worth afterwards: a
// server in memory, or one that keeps its objects on disk.
func millionObjects(keeps bool) measurement {
	kept := ""
	if keeps {
		kept = ", on disk"
	}
	return measurement{
		figures: []figure{
			{"1 M ConfigMaps of 1 KiB: live heap" + kept, mebibytes, 1.75 * 1024},
			{"1 M ConfigMaps of 1 KiB: RssAnon" + kept, mebibytes, 3 * 1024},
			{"1 M ConfigMaps of 1 KiB: create rate against that at 10,000" + kept, percent, 80},
			{"list of 500 from the middle of 1 M, through the server" + kept, milliseconds, 20},
			{"list of 500 of 1 M exactly as a minute ago, through the server" + kept, milliseconds, 20},
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
	if err != nil {
		return nil, err
	}
	now, minuteAgo, err := f.pages(ctx, s)
	if err != nil {
		return nil, err
	}
	return []reading{{Value: heap}, {Value: anonymous}, {Value: 100 * many / few}, now, minuteAgo}, nil
}

// filler creates ConfigMaps, and remembers when the server was at which revision.
type filler struct {
	client    kubernetes.Interface
	namespace string
	created   int
	passed    []passed
}

type passed struct {
	at       time.Time
	revision string
}

// sampled is how many creates lie between two revisions that are remembered, and how many a rate is measured over.
const sampled = 20_000

// rates fills the server, and returns how many creates a second it made at 10,000 objects and at a million.
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
	list, err := f.client.CoreV1().ConfigMaps(f.namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	f.passed = append(f.passed, passed{time.Now(), list.ResourceVersion})
	return nil
}

// pages times lists of 500: from the middle of what is there now, and of what was there a minute ago.
func (f *filler) pages(ctx context.Context, s *server) (now, minuteAgo reading, err error) {
	newest := f.passed[len(f.passed)-1].revision
	if now, err = f.page(ctx, s, "list-500-of-1M", newest, f.created/2); err != nil {
		return now, minuteAgo, err
	}
	for i := len(f.passed) - 1; i >= 0; i-- {
		if time.Since(f.passed[i].at) > time.Minute {
			minuteAgo, err = f.page(ctx, s, "list-500-a-minute-ago", f.passed[i].revision, 1_000)
			return now, minuteAgo, err
		}
	}
	return now, minuteAgo, errors.New("the server was filled in less than a minute")
}

// page times lists of 500 at a revision, from an object on.
func (f *filler) page(ctx context.Context, s *server, name, revision string, from int) (reading, error) {
	token := continueAt(revision, "/"+f.namespace+"/"+configMapName(from))
	const times = 20
	took, err := s.measure(name, times, func() error {
		for range times {
			list, err := f.client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{Limit: 500, Continue: token})
			if err != nil {
				return err
			}
			if len(list.Items) != 500 || list.ResourceVersion != revision {
				return fmt.Errorf("a page at revision %s has %d objects, at %s", revision, len(list.Items), list.ResourceVersion)
			}
		}
		return nil
	})
	if err != nil {
		return reading{}, err
	}
	return took.each(), nil
}

// continueAt is Kubernetes' token of a list at a revision, from a key on.
func continueAt(revision, key string) string {
	token, err := json.Marshal(map[string]any{"v": "meta.k8s.io/v1", "rv": json.Number(revision), "start": key})
	if err != nil {
		panic(err) // a revision is a number
	}
	return base64.RawURLEncoding.EncodeToString(token)
}
