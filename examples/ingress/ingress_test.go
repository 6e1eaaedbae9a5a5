package ingress

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
)

func TestControllerSelection(t *testing.T) {
	t.Parallel()
	here := filepath.Join(t.TempDir(), "nginx")
	if err := os.WriteFile(here, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(t.TempDir(), "nginx")
	for name, c := range map[string]struct {
		selected []string
		program  string
		places   []string
		want     []string
		says     string // in the error or, if there is none, in the log
	}{
		"both":                       {nil, "", []string{nowhere, here}, []string{Manager, Nginx}, ""},
		"no nginx":                   {nil, "", []string{nowhere}, []string{Manager}, "apt-get install nginx-light"},
		"no nginx, and nobody cares": {[]string{Manager}, "", []string{nowhere}, []string{Manager}, ""},
		"no nginx, asked for":        {[]string{Nginx}, "", []string{nowhere}, nil, "apt-get install nginx-light"},
		"no nginx where it was said": {nil, nowhere, []string{here}, nil, nowhere},
		"nginx where it was said":    {[]string{Nginx}, here, []string{nowhere}, []string{Nginx}, ""},
		"no such controller": {[]string{"apache"}, "", []string{here}, nil,
			`unknown controller "apache": must be manager or nginx`},
	} {
		var log bytes.Buffer
		o := Options{Controllers: c.selected, Program: c.program, Log: slog.New(slog.NewTextHandler(&log, nil))}
		got, err := o.chosen(c.places)
		message := log.String()
		if err != nil {
			message = err.Error()
		}
		silent := c.says == "" && message == ""
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) || !silent &&
			(c.says == "" || !strings.Contains(message, c.says)) {
			t.Errorf("%s: got controllers %q and message %q, want %q and %q", name, got, message, c.want, c.says)
		}
		if slices.Contains(c.want, Nginx) && o.Program != here {
			t.Errorf("%s: got program %q, want %q", name, o.Program, here)
		}
	}
}

func TestPortZeroSelectsFreePort(t *testing.T) {
	t.Parallel()
	one, other := "127.0.0.1:0", "127.0.0.1:0"
	if err := withPorts(&one, &other); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{one, other} { // both are held at the same time, so they must differ
		l, err := net.Listen("tcp", got)
		if err != nil {
			t.Fatalf("%s is not free: %v", got, err)
		}
		defer l.Close()
	}
	for _, as := range []string{"", "127.0.0.1:8080", ":80", "nonsense"} {
		got := as
		if err := withPorts(&got); got != as || err != nil {
			t.Errorf("addresses %q: got %q, %v", as, got, err)
		}
	}
}

func TestInvalidClassIsRefused(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Options{Class: "My_Class", Controllers: []string{Manager},
		Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(),
		`invalid class "My_Class": must be the name of an IngressClass: a lowercase RFC 1123`) {
		t.Errorf("got error %v", err)
	}
}

// If one controller cannot start, the second controller stops.
func TestControllersStopTogether(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	program := filepath.Join(t.TempDir(), "nginx")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := Run(context.WithoutCancel(t.Context()), Options{
		Config: p.RESTConfig(), Program: program, Folder: t.TempDir(), HTTP: "nonsense",
		Log: slog.New(slog.DiscardHandler),
	})
	if err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("Run returned %v, want the error of the class", err)
	}
}
