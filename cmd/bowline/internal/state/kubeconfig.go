package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/internal/durable"
)

// entry is the name of the cluster, the user and the context in a written kubeconfig.
const entry = "bowline"

// marker is the cluster extension that identifies a kubeconfig written by this package. Unlike a comment, it
// is preserved when kubectl changes the file (config set-context).
const marker = "bowline.dev/written-by"

// Access holds the administrator's credentials for a server.
type Access struct {
	Server      string // URL
	Authority   []byte // certificates to trust, in PEM
	Certificate []byte // the client's, in PEM
	Key         []byte // in PEM
}

// ForeignError reports that a file was not written by this package and was left alone.
type ForeignError struct {
	Path string
	// Irregular is set for a folder, a pipe, a socket or a device.
	Irregular bool
}

func (e *ForeignError) Error() string {
	if e.Irregular {
		return fmt.Sprintf("%s is not a regular file and was not changed: name another file with --kubeconfig", e.Path)
	}
	return fmt.Sprintf("%s was not written by bowline up and was not changed: "+
		"name another file with --kubeconfig, or move it away", e.Path)
}

// RemoveKubeconfig removes the kubeconfig of an earlier server, so that a client that waits for the file
// reads the new one. It returns a *ForeignError if this package did not write the file, and nil if there is
// no file.
func RemoveKubeconfig(path string) error {
	if err := checkMarker(path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the old kubeconfig: %w", err)
	}
	return nil
}

// WriteKubeconfig writes the file atomically, with access for its owner only. It returns a *ForeignError if a
// file exists that this package did not write.
func WriteKubeconfig(path string, access Access) error {
	text, err := clientcmd.Write(access.config())
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the kubeconfig: %w", err)
	}
	if err := checkMarker(path); err != nil {
		return err
	}
	if err := durable.WriteFile(path, text, fileMode); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func (a Access) config() clientcmdapi.Config {
	written, _ := json.Marshal(map[string]string{"command": "bowline up"}) // a map of strings always encodes
	config := clientcmdapi.NewConfig()
	config.Clusters[entry] = &clientcmdapi.Cluster{
		Server:                   a.Server,
		CertificateAuthorityData: a.Authority,
		DisableCompression:       true, // the server is on this machine
		Extensions:               map[string]runtime.Object{marker: &runtime.Unknown{Raw: written}},
	}
	config.AuthInfos[entry] = &clientcmdapi.AuthInfo{ClientCertificateData: a.Certificate, ClientKeyData: a.Key}
	config.Contexts[entry] = &clientcmdapi.Context{Cluster: entry, AuthInfo: entry}
	config.CurrentContext = entry
	return *config
}

// checkMarker returns a *ForeignError if the file exists but does not carry the marker.
func checkMarker(path string) error {
	text, err := readRegular(path)
	var foreign *ForeignError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &foreign):
		return err
	case err != nil:
		return fmt.Errorf("reading the old kubeconfig: %w", err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return &ForeignError{Path: path}
	}
	cluster, ok := config.Clusters[entry]
	if !ok {
		return &ForeignError{Path: path}
	}
	if _, ok := cluster.Extensions[marker]; !ok {
		return &ForeignError{Path: path}
	}
	return nil
}

// maxKubeconfig is larger than any kubeconfig that this package writes, in bytes. kubectl may have added to it.
const maxKubeconfig = 1 << 20

// readRegular reads a regular file. It returns a *ForeignError for any other file, and for one that is too large to be
// a kubeconfig of this package.
func readRegular(path string) ([]byte, error) {
	text, err := durable.ReadFile(path, maxKubeconfig)
	switch {
	case errors.Is(err, durable.ErrIrregular):
		return nil, &ForeignError{Path: path, Irregular: true}
	case errors.Is(err, durable.ErrTooLarge):
		return nil, &ForeignError{Path: path}
	}
	return text, err
}
