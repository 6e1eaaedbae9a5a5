package main

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

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// backupPath is where a server answers with its state (package server).
const backupPath = "/bowline/backup"

// streamOfServer is the state of the running server that a kubeconfig names; or, where that is empty, the one that bowline
// kubectl would find. The caller closes it.
func streamOfServer(ctx context.Context, kubeconfig string) (io.ReadCloser, error) {
	config, err := serverConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.DisableCompression = true // a backup is verified by its reader, and most servers are on this machine
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
		return nil, fmt.Errorf("asking the server for its state: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, refusal(config.Host, answer)
	}
	return answer.Body, nil
}

// refusal is why a server did not answer with its state.
func refusal(server string, answer *http.Response) error {
	var status metav1.Status
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return fmt.Errorf("the server at %s does not know %s: it is not bowline, or an older one", server, backupPath)
	case err == nil && json.Unmarshal(text, &status) == nil && status.Message != "":
		return fmt.Errorf("the server at %s refused: %s", server, status.Message)
	}
	return fmt.Errorf("the server at %s answered %s", server, answer.Status)
}

// serverConfig is how to reach a running server: by that kubeconfig, by KUBECONFIG, or by what the server of the user's state
// folder wrote. It never is that of a cluster that ~/.kube/config names.
func serverConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" && os.Getenv(kubeconfigVariable) == "" {
		running, err := runningKubeconfig()
		if err != nil {
			return nil, err
		}
		kubeconfig = running
	}
	return client.Load(client.Flags{Kubeconfig: kubeconfig})
}

// runningKubeconfig is the kubeconfig of the server that runs in the user's state folder.
func runningKubeconfig() (string, error) {
	folder, err := state.Default()
	if err != nil {
		return "", err
	}
	holder, running, err := folder.Running()
	if err != nil {
		return "", err
	}
	if !running || holder.Kubeconfig == "" {
		return "", fmt.Errorf("no bowline server runs in %s: start one with bowline up, name its kubeconfig with --kubeconfig or "+
			"KUBECONFIG, or read a folder that no server uses with --data", folder)
	}
	return holder.Kubeconfig, nil
}

// stateFolder is the folder of that path, or the user's own.
func stateFolder(data string) (state.Folder, error) {
	if data == "" {
		return state.Default()
	}
	return state.At(data)
}

// held is the error of a folder that could not be taken, in the words of who has no server to start.
func held(err error) error {
	var held *state.HeldError
	if !errors.As(err, &held) {
		return err
	}
	where := ""
	if held.Holder.Address != "" {
		where = ", which serves " + held.Holder.Address
	}
	return fmt.Errorf("the state folder %s is in use by process %d%s: stop that one first, or name another folder with --data",
		held.Folder, held.Holder.PID, where)
}

// folderReader is the state in a folder that no server uses, as a backup of it.
type folderReader struct {
	*io.PipeReader
	closed func() error
}

// Close ends the reading and gives the folder free.
func (r *folderReader) Close() error { return errors.Join(r.PipeReader.Close(), r.closed()) }

// streamOfFolder reads a state folder, in which nothing changes by it; one without its last commits where that is accepted. The
// caller closes it.
func streamOfFolder(ctx context.Context, data string, acceptLoss bool) (io.ReadCloser, error) {
	folder, err := stateFolder(data)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder.Objects()); err != nil {
		return nil, fmt.Errorf("%s is no state folder with objects: %w", folder, err)
	}
	lock, err := folder.Share()
	if err != nil {
		return nil, held(err)
	}
	kept, err := disk.Open(folder.Objects(), disk.Options{ReadOnly: true, AcceptLoss: acceptLoss})
	if err != nil {
		return nil, errors.Join(lost(err), lock.Close())
	}
	s, err := store.New(ctx, kept, store.Options{AcceptDamage: true})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	closed := func() error { return errors.Join(s.Close(), lock.Close()) }
	snapshot, err := s.Snapshot(ctx, store.Latest())
	if err != nil {
		return nil, errors.Join(err, closed())
	}
	program, _ := versions()
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		write.CloseWithError(backup.Write(ctx, write, snapshot, backup.HeadOf(s, snapshot, program)))
	}()
	return &folderReader{read, func() error { <-done; return closed() }}, nil
}
