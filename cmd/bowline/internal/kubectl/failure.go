package kubectl

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/printable"
)

// failureReporter adds hints to kubectl's error messages.
type failureReporter struct {
	access *genericclioptions.ConfigFlags // the server that kubectl accesses
	// missing is the state folder in which kubectl expected a running server but found none; otherwise it is
	// empty.
	missing state.Folder
	lookErr error // error of looking for that server
}

// exit prints kubectl's last message and the hints for it, and ends the process.
func (f *failureReporter) exit(message string, code int) {
	unread := strings.Contains(message, genericclioptions.ErrEmptyConfig.Error())
	// kubectl's advice on kubeconfigs is misleading if the user has not named one.
	if message != "" && !(f.missing != "" && unread && !f.namesKubeconfig()) {
		fmt.Fprintln(os.Stderr, printable.Lines(strings.TrimSuffix(message, "\n")))
	}
	if strings.Contains(message, "certificate signed by unknown authority") && f.isOtherServer() {
		fmt.Fprintln(os.Stderr, f.otherServerMessage())
	}
	switch {
	case f.lookErr != nil:
		fmt.Fprintln(os.Stderr, terminal.Paragraph(f.lookErr))
	case f.missing != "" && (unread || strings.Contains(message, "connection to the server")):
		fmt.Fprintln(os.Stderr, terminal.Sprintf("No bowline server runs in %s: start one with bowline up, "+
			"or name another kubeconfig with --kubeconfig or KUBECONFIG.", f.missing))
	}
	os.Exit(code)
}

// namesKubeconfig reports whether the command line contains --kubeconfig.
func (f *failureReporter) namesKubeconfig() bool {
	return slices.ContainsFunc(os.Args, func(argument string) bool {
		return strings.HasPrefix(argument, "--kubeconfig")
	})
}

// isOtherServer reports whether the server's own certificate is of another authority than that of the
// kubeconfig. kubectl's message alone does not prove it: the certificate of a webhook, or of the URL of a
// manifest, can be of an unknown authority too.
func (f *failureReporter) isOtherServer() bool {
	config, err := f.access.ToRESTConfig()
	if err != nil {
		return false
	}
	c, err := client.New(config)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = c.Ping(ctx)
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// otherServerMessage explains that the kubeconfig belongs to another server. This happens when one server
// replaces another on the same port.
func (f *failureReporter) otherServerMessage() terminal.Text {
	server, kubeconfig := "there", "the kubeconfig"
	if config, err := f.access.ToRESTConfig(); err == nil {
		server = "at " + config.Host
	}
	files := f.access.ToRawKubeConfigLoader().ConfigAccess()
	if files.IsExplicitFile() {
		kubeconfig = files.GetExplicitFile()
	} else if all := files.GetLoadingPrecedence(); len(all) == 1 {
		kubeconfig = all[0]
	}
	return terminal.Sprintf("The server %s is not the one that %s was written for: "+
		"its certificate was issued by another authority. "+
		"Start the other server, or name this server's kubeconfig with --kubeconfig or KUBECONFIG.", server, kubeconfig)
}
