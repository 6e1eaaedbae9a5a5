package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// httpMain is an HTTP client that supports KUBECONFIG. It sends a request for a path to the server of the
// kubeconfig, with the client certificate, and a request for a URL to that URL.
//
//	http [-i] [-anonymous] [-H 'NAME: VALUE'] [-d BODY|@FILE] [-n LINES] METHOD PATH|URL
//
// The flag -i prints the status line and the headers first; -n ends after the given number of lines of the
// body, for a watch. With the header Expect: 100-continue, it prints when the server starts to read the body.
// The exit code is 0 for every response.
func httpMain() {
	var headers []string
	set := flag.NewFlagSet("http", flag.ExitOnError)
	include := set.Bool("i", false, "")
	anonymous := set.Bool("anonymous", false, "")
	data := set.String("d", "", "")
	lines := set.Int("n", -1, "")
	set.Func("H", "", func(header string) error { headers = append(headers, header); return nil })
	fail(set.Parse(os.Args[1:]))

	r, client := newRequest(set.Arg(0), set.Arg(1), *data, *anonymous)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		r.Header.Add(name, strings.TrimSpace(value))
	}
	answer, err := client.Do(r)
	fail(err)
	if *include {
		printHead(answer)
	}
	printBody(answer.Body, *lines)
}

func newRequest(method, target, data string, anonymous bool) (*http.Request, *http.Client) {
	client := &http.Client{}
	if strings.HasPrefix(target, "/") {
		config := restConfig()
		if anonymous {
			config = rest.AnonymousClientConfig(config)
		}
		transport, err := rest.TransportFor(config)
		fail(err)
		client.Transport, target = transport, config.Host+target
	} else {
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{}}
	}
	var body io.Reader
	if file, ok := strings.CutPrefix(data, "@"); ok {
		opened, err := os.Open(file)
		fail(err)
		body = opened
	} else if data != "" {
		body = strings.NewReader(data)
	}
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got100Continue: func() { fmt.Println("HTTP/1.1 100 Continue") },
	})
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	fail(err)
	return r, client
}

func printHead(answer *http.Response) {
	fmt.Printf("%s %s\n", answer.Proto, answer.Status)
	if slices.Contains(answer.TransferEncoding, "chunked") {
		fmt.Println("Transfer-Encoding: chunked")
	}
	names := make([]string, 0, len(answer.Header))
	for name := range answer.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range answer.Header[name] {
			fmt.Printf("%s: %s\n", name, value)
		}
	}
	fmt.Println()
}

// printBody copies the body or its first lines to standard output.
func printBody(body io.ReadCloser, lines int) {
	defer body.Close()
	if lines < 0 {
		_, err := io.Copy(os.Stdout, body)
		fail(err)
		return
	}
	reader := bufio.NewReader(body)
	for range lines {
		line, err := reader.ReadString('\n')
		fmt.Print(line)
		fail(err)
	}
}
