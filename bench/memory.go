package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// idle is how long a server is left alone before its idle memory is measured.
const idle = 3 * time.Second

func idleMemory() measurement {
	return measurement{
		figures: []figure{{"idle anonymous memory (RssAnon)", mebibytes, 16}},
		starts:  true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			s, err := l.server(ctx)
			if err != nil {
				return nil, err
			}
			select {
			case <-time.After(idle):
			case <-ctx.Done():
			}
			mib, err := s.process.anonymousMemory()
			return []reading{{Value: mib}}, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
		},
	}
}

// many is the number of objects in a full server.
const many = 100_000

func filledMemory() measurement {
	return measurement{
		figures: []figure{
			{"100,000 ConfigMaps of 1 KiB: live heap", mebibytes, 180},
			{"100,000 ConfigMaps of 1 KiB: RssAnon", mebibytes, 350},
		},
		starts: true,
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			create := createConfigMap(ctx, client, namespace)
			if err := drive(ctx, 16, many, create); err != nil {
				return nil, err
			}
			heap, err := s.liveHeap(ctx, client, namespace)
			if err != nil {
				return nil, err
			}
			anonymous, err := s.process.anonymousMemory()
			return []reading{{Value: heap}, {Value: anonymous}}, err
		}),
	}
}

// liveHeap returns the heap that the server's last garbage collection retained, in MiB. The metrics contain
// it only indirectly, as the size of the next collection. It first triggers two collections by requests for a
// missing object.
func (s *server) liveHeap(ctx context.Context, client kubernetes.Interface, namespace string) (float64, error) {
	const collections, nextSize, percent = "go_gc_duration_seconds_count", "go_memstats_next_gc_bytes",
		"go_gc_gogc_percent"
	before, err := s.metrics(ctx)
	if err != nil {
		return 0, err
	}
	for range 200 {
		if err := drive(ctx, 16, 2_000, func(int) error {
			_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "nothing", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("a ConfigMap that is not there was answered with %w", err)
		}); err != nil {
			return 0, err
		}
		now, err := s.metrics(ctx)
		if err != nil {
			return 0, err
		}
		if now[collections] >= before[collections]+2 {
			return now[nextSize] / (1 + now[percent]/100) / (1 << 20), nil
		}
	}
	return 0, errors.New("the server does not collect its garbage")
}
