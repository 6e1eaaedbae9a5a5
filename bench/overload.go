package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// childFlood is the argument of the process that floods the server.
	childFlood = "child-flood"
	// floodConnections is the number of connections, each of which sends requests one after another: half of
	// the connections list all objects, and half create large objects.
	floodConnections = 500
	// floodStored is the number of existing objects to list.
	floodStored = 5_000
	// floodBody is the size of the created objects in bytes. The creates are dry runs, so that the server
	// does not fill up.
	floodBody = 256 << 10
	// besideFlood is the number of gets and of creates that are measured.
	besideFlood = 1_000
)

func init() { children[childFlood] = floodServer }

// overload measures the latency of a client while another one floods the server. Both are the same user with
// different user agents.
func overload() measurement {
	return measurement{
		figures: []figure{
			{"p99 of a client's gets and creates beside another's flood", milliseconds, 100},
			{"the same without the flood", milliseconds, 100},
		},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			config := rest.CopyConfig(s.config)
			config.UserAgent = "bystander"
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, 16, floodStored, createConfigMap(ctx, client, namespace)); err != nil {
				return nil, err
			}
			alone, err := s.latency(ctx, "alone", client, namespace, "alone")
			if err != nil {
				return nil, err
			}
			end, err := s.flood(ctx, namespace)
			if err != nil {
				return nil, err
			}
			beside, err := s.latency(ctx, "overload", client, namespace, "beside")
			if err = errors.Join(err, end()); err != nil {
				return nil, err
			}
			return []reading{beside, alone}, nil
		}),
	}
}

// latency sends gets and creates one after another and returns the p99 of their latency. Every request has to
// succeed.
func (s *server) latency(ctx context.Context, name string, client kubernetes.Interface, namespace,
	prefix string) (reading, error) {
	var took []time.Duration
	maps := client.CoreV1().ConfigMaps(namespace)
	spent, err := s.measure(name, 2*besideFlood, func() error {
		for i := range besideFlood {
			start := time.Now()
			if _, err := maps.Get(ctx, configMap(i).Name, metav1.GetOptions{}); err != nil {
				return err
			}
			between := time.Now()
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%06d", prefix, i)},
				Data: configMap(i).Data}
			if _, err := maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
				return err
			}
			took = append(took, between.Sub(start), time.Since(between))
		}
		return nil
	})
	if err != nil {
		return reading{}, err
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	fmt.Fprintf(os.Stderr, "%s: p50 %s, p99 %s, slowest %s\n", name, took[len(took)/2], p99, took[len(took)-1])
	return reading{Value: float64(p99.Microseconds()) / 1000, Client: spent.rate().Client}, nil
}

// flood starts the flooding process, and returns when each of its connections has received a response. end
// stops it.
func (s *server) flood(ctx context.Context, namespace string) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(s.lab.dir, "flood")
	if err := writeKubeconfig(kubeconfig, s.config); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, childFlood, kubeconfig, namespace)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	end = func() error { return errors.Join(input.Close(), command.Wait()) }
	if lines := bufio.NewScanner(output); !lines.Scan() {
		return nil, errors.Join(errors.New("the flood did not begin"), end())
	}
	return end, nil
}

// floodServer floods the server of a kubeconfig until its standard input ends. It ignores 429 responses.
func floodServer(ctx context.Context, args []string) error {
	config, err := restConfig(args[0])
	if err != nil {
		return err
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	f := &flooding{url: config.Host + "/api/v1/namespaces/" + args[1] + "/configmaps"}
	f.body = []byte(`{"metadata":{"generateName":"flood-"},"data":{"k":"` + strings.Repeat("x", floodBody) + `"}}`)
	f.first.Add(floodConnections)
	var all sync.WaitGroup
	for i := range floodConnections {
		all.Go(func() { f.run(ctx, tlsConfig, i%2 == 0) })
	}
	f.first.Wait()
	fmt.Println("ready")
	all.Wait()
	fmt.Fprintf(os.Stderr, "the flood: %d answered, %d refused, %d failed\n", f.answered.Load(), f.refused.Load(),
		f.failed.Load())
	return nil
}

// flooding is the state that the connections share.
type flooding struct {
	url                       string
	body                      []byte
	first                     sync.WaitGroup
	answered, refused, failed atomic.Int64
}

// run sends requests over its own connection.
func (f *flooding) run(ctx context.Context, config *tls.Config, lists bool) {
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	transport := &http.Transport{TLSClientConfig: config, DisableCompression: true}
	defer transport.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		if count := f.send(ctx, transport, lists); ctx.Err() == nil {
			count.Add(1)
		}
		if n == 0 {
			f.first.Done()
		}
	}
}

// send sends a request and returns the counter for its result.
func (f *flooding) send(ctx context.Context, transport http.RoundTripper, lists bool) *atomic.Int64 {
	method, url, body := http.MethodPost, f.url+"?dryRun=All", bytes.NewReader(f.body)
	if lists {
		method, url, body = http.MethodGet, f.url, bytes.NewReader(nil)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return &f.failed
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "flood")
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return &f.failed
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	switch {
	case err != nil:
		return &f.failed
	case answer.StatusCode == http.StatusTooManyRequests:
		return &f.refused
	}
	return &f.answered
}
