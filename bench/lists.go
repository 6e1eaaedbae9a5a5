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
	// listed is the number of objects in a list.
	listed = 10_000
	// repeats is how often a list is requested in one run, after a first request that is discarded.
	repeats = 10
)

// lists writes ConfigMaps as JSON and lists them as JSON, the form in which they are stored, and then for the
// first time as protobuf.
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
	list := func(media string) func() *rest.Request {
		return func() *rest.Request {
			return client.Get().Namespace(namespace).Resource("configmaps").SetHeader("Accept", media)
		}
	}
	asJSON, err := timeList(ctx, s, "list-json", 1, repeats, listed*1024, list(runtime.ContentTypeJSON))
	if err != nil {
		return nil, err
	}
	cold, err := timeList(ctx, s, "list-protobuf-cold", 0, 1, listed*1024, list(runtime.ContentTypeProtobuf))
	return []reading{asJSON, cold}, err
}

// timeList measures lists after some that are discarded, and checks that each has a minimum size in bytes.
func timeList(ctx context.Context, s *server, name string, before, times, least int,
	request func() *rest.Request) (reading, error) {
	list := func(times int) error {
		for range times {
			size, err := countBytes(ctx, request())
			if err != nil {
				return err
			}
			if size < least {
				return fmt.Errorf("%s: a list of %d bytes, and at least %d were expected", name, size, least)
			}
		}
		return nil
	}
	if err := list(before); err != nil {
		return reading{}, err
	}
	took, err := s.measure(name, times, func() error { return list(times) })
	if err != nil {
		return reading{}, err
	}
	return took.each(), nil
}

// countBytes sends a request and returns the size of the response body, which it does not decode.
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
