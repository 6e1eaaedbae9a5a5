package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vishvananda/netns"
)

// cmdAppears waits until a file exists or, if negated, until it does not.
//
//	appears FILE
func cmdAppears(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: appears FILE")
	}
	path := ts.MkAbs(args[0])
	watcher, err := fsnotify.NewWatcher()
	ts.Check(err)
	defer watcher.Close()
	ts.Check(watcher.Add(filepath.Dir(path)))
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(path); (err == nil) != neg {
			return
		}
		select {
		case <-watcher.Events:
		case err := <-watcher.Errors:
			ts.Check(err)
		case <-deadline:
			ts.Fatalf("%s: there: %v after %v", path, neg, patience)
		}
	}
}

// removeNamespaceMain removes a named network namespace, as an administrator of the machine could.
//
//	remove-namespace NAME
func removeNamespaceMain() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: remove-namespace NAME"))
	}
	fail(netns.DeleteNamed(os.Args[1]))
}
