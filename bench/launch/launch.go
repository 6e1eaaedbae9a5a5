// Package launch starts servers for the bench's programs.
package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// limit is the time limit for the start of a server.
const limit = 20 * time.Second

// Start starts a server and waits until it has written its kubeconfig, which it does when it is ready. After
// an error the process may still run; command.Process is nil if it was not started.
func Start(ctx context.Context, command *exec.Cmd, kubeconfig string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(filepath.Dir(kubeconfig)); err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	return await(ctx, watcher, kubeconfig)
}

// await waits until a file is not empty.
func await(ctx context.Context, watcher *fsnotify.Watcher, file string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return nil
		}
		select {
		case <-watcher.Events:
		case err := <-watcher.Errors:
			return err
		case <-ctx.Done():
			return fmt.Errorf("the server did not become ready: %w", ctx.Err())
		}
	}
}
