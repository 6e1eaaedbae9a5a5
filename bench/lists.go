package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// listed is how many objects a list has.
	listed = 10_000
	// repeats is how often a list is asked for in one run, after a first time that does not count.
	repeats = 10
)

// lists writes ConfigMaps as JSON and lists them: as JSON, which is what was kept, and then for the first time as
// protobuf.
func lists() measurement {
	return measurement{
		figures: []figure{
			{"list 10,000 ConfigMaps: JSON, written as JSON", milliseconds, 40},
			{"list 10,000 ConfigMaps: asked for as protobuf, cold", milliseconds, 300},
		},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			config := rest.CopyConfig(s.config)
			config.ContentType = runtime.ContentTypeJSON
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, 16, listed, createConfigMap(ctx, client, namespace)); err != nil {
				return nil, err
			}
			return timeLists(ctx, s, client.CoreV1().RESTClient(), namespace)
		}),
	}
}

func timeLists(ctx context.Context, s *server, client rest.Interface, namespace string) ([]reading, error) {
	list := func(media string, times int) error {
		for range times {
			size, err := countBytes(ctx, client.Get().Namespace(namespace).Resource("configmaps").SetHeader("Accept", media))
			if err != nil {
				return err
			}
			if size < listed*1024 {
				return fmt.Errorf("a list of %d ConfigMaps of 1 KiB is only %d bytes", listed, size)
			}
		}
		return nil
	}
	if err := list(runtime.ContentTypeJSON, 1); err != nil {
		return nil, err
	}
	asJSON, err := s.measure("list-json", repeats, func() error { return list(runtime.ContentTypeJSON, repeats) })
	if err != nil {
		return nil, err
	}
	cold, err := s.measure("list-protobuf-cold", 1, func() error { return list(runtime.ContentTypeProtobuf, 1) })
	if err != nil {
		return nil, err
	}
	return []reading{asJSON.each(), cold.each()}, nil
}

// countBytes sends a request and counts what the answer's body holds, without decoding it.
func countBytes(ctx context.Context, request *rest.Request) (int, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	buffer, size := make([]byte, 64<<10), 0
	for {
		n, err := body.Read(buffer)
		size += n
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}
