package main

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
)

// kubectlFailures says of kubectl's failures what kubectl cannot know.
type kubectlFailures struct {
	access *genericclioptions.ConfigFlags // the server that kubectl speaks to
	// missing is the state folder in which no server runs, where kubectl was to find one there; else it is empty.
	missing state.Folder
	lookErr error // of looking for that server
}

// end prints kubectl's last words, and what there is to add, and ends the process.
func (f *kubectlFailures) end(message string, code int) {
	unread := strings.Contains(message, genericclioptions.ErrEmptyConfig.Error())
	if message != "" && !(f.missing != "" && unread && !f.isNamed()) { // else its advice on kubeconfigs, which nobody has named
		fmt.Fprintln(os.Stderr, strings.TrimSuffix(message, "\n"))
	}
	if strings.Contains(message, "certificate signed by unknown authority") && f.isAnother() {
		fmt.Fprintln(os.Stderr, f.another())
	}
	if f.missing != "" && (unread || strings.Contains(message, "connection to the server")) {
		fmt.Fprintf(os.Stderr, "No bowline server runs in %s: start one with bowline up, "+
			"or name another kubeconfig with --kubeconfig or KUBECONFIG.\n", f.missing)
	}
	if f.lookErr != nil {
		fmt.Fprintf(os.Stderr, "%v\n", f.lookErr)
	}
	os.Exit(code)
}

// isNamed says whether the command line names a kubeconfig.
func (f *kubectlFailures) isNamed() bool {
	return slices.ContainsFunc(os.Args, func(argument string) bool { return strings.HasPrefix(argument, "--kubeconfig") })
}

// isAnother says that it is the server itself whose certificate is not the kubeconfig's: a webhook's, or that of a file's URL, may be
// of an unknown authority too.
func (f *kubectlFailures) isAnother() bool {
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
	_, err = c.Reach(ctx)
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// another says that a server is not the one that a kubeconfig is of: servers that are started one after the other may have the
// same port.
func (f *kubectlFailures) another() string {
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
	return fmt.Sprintf("The server %s is not the one that %s was written for, but another: "+
		"its certificate is of another authority. "+
		"Start that one again, or name the kubeconfig of this one with --kubeconfig or KUBECONFIG.", server, kubeconfig)
}
