// Package source opens the state of a running server, of a state folder or of a file as a backup stream.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/version"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// backupPath is the path under which a server returns its state (see package server).
const backupPath = "/bowline/backup"

// OpenServer streams the state of the running server that a kubeconfig names. If kubeconfig is empty, it
// finds the server like bowline kubectl. The caller closes the stream.
func OpenServer(ctx context.Context, kubeconfig string) (io.ReadCloser, error) {
	config, err := connect.Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.DisableCompression = true // the reader verifies the backup, and most servers are on this machine
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url.JoinPath(backupPath).String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("requesting the server's state: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, statusError(config.Host, answer)
	}
	return answer.Body, nil
}

// statusError returns an error that describes an unsuccessful response.
func statusError(server string, answer *http.Response) error {
	var status metav1.Status
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return fmt.Errorf("the server at %s does not serve %s: it is not bowline, or an older version", server,
			backupPath)
	case err == nil && json.Unmarshal(text, &status) == nil && status.Message != "":
		return fmt.Errorf("the server at %s rejected the request: %s", server, status.Message)
	}
	return fmt.Errorf("unexpected response from the server at %s: %s", server, answer.Status)
}

// Folder returns the state folder at data, or the user's default folder if data is empty.
func Folder(data string) (state.Folder, error) {
	if data == "" {
		return state.Default()
	}
	return state.At(data)
}

// ExplainLock rewrites a *state.HeldError for commands that do not start a server. It returns other errors
// unchanged.
func ExplainLock(err error) error {
	var held *state.HeldError
	if !errors.As(err, &held) {
		return err
	}
	where := ""
	if held.Holder.Address != "" {
		where = ", which serves " + held.Holder.Address
	}
	return fmt.Errorf("the state folder %s is in use by process %d%s: stop that server, or name another folder "+
		"with --data",
		held.Folder, held.Holder.PID, where)
}

// folderReader streams a backup of a state folder that no server uses.
type folderReader struct {
	*io.PipeReader
	close func() error
}

// Close stops reading and releases the folder.
func (r *folderReader) Close() error { return errors.Join(r.PipeReader.Close(), r.close()) }

// OpenFolder streams the state in a state folder without changing it. If acceptLoss is set, it also reads a
// store that lost its last commits. The caller closes the stream.
func OpenFolder(ctx context.Context, data string, acceptLoss bool) (io.ReadCloser, error) {
	folder, err := Folder(data)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder.Objects()); err != nil {
		return nil, fmt.Errorf("%s is not a state folder with objects: %w", folder, err)
	}
	lock, err := folder.Share()
	if err != nil {
		return nil, ExplainLock(err)
	}
	log, err := disk.Open(folder.Objects(), disk.Options{ReadOnly: true, AcceptLoss: acceptLoss})
	if err != nil {
		return nil, errors.Join(ExplainLoss(err), lock.Close())
	}
	s, err := store.New(ctx, log, store.Options{AcceptDamage: true})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	closed := func() error { return errors.Join(s.Close(), lock.Close()) }
	snapshot, err := s.Snapshot(ctx, store.Latest())
	if err != nil {
		return nil, errors.Join(err, closed())
	}
	program, _ := version.Current()
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		write.CloseWithError(backup.Write(ctx, write, snapshot, backup.HeadOf(s, snapshot, program)))
	}()
	return &folderReader{read, func() error { <-done; return closed() }}, nil
}
