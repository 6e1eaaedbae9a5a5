// Package connect finds a server by a kubeconfig or by its state folder, and reads its journal.
package connect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/bowline-dev/bowline/client"
	kubeconfigs "github.com/bowline-dev/bowline/internal/kubeconfig"
	"github.com/bowline-dev/bowline/internal/why"
)

// Server is a server with a client and the names of its resources.
type Server struct {
	access   cmdutil.Factory
	mapper   meta.RESTMapper
	Client   *client.Client
	Address  string
	resource schema.GroupVersionResource // set by Resolve
}

// NewFactory returns kubectl's factory for a server, so that resource names have the same meaning as in
// kubectl.
func NewFactory(kubeconfig, namespace string) (cmdutil.Factory, error) {
	access := genericclioptions.NewConfigFlags(true)
	access.KubeConfig, access.Namespace = &kubeconfig, &namespace
	if kubeconfig == "" && os.Getenv(KubeconfigVariable) == "" {
		running, err := RunningKubeconfig()
		if err != nil {
			return nil, err
		}
		access.KubeConfig = &running
	}
	for _, path := range append(filepath.SplitList(os.Getenv(KubeconfigVariable)), *access.KubeConfig) {
		if err := kubeconfigs.CheckSize(path); err != nil {
			return nil, err
		}
	}
	return cmdutil.NewFactory(access), nil
}

// Dial returns a client of the server that a kubeconfig names. If kubeconfig is empty, it finds the server
// like bowline kubectl.
func Dial(kubeconfig, namespace string) (*Server, error) {
	access, err := NewFactory(kubeconfig, namespace)
	if err != nil {
		return nil, err
	}
	config, err := access.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // client-go would pause between requests, and doctor lists every resource twice
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	mapper, err := access.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return &Server{access: access, mapper: mapper, Client: c, Address: config.Host}, nil
}

// Resolve returns the object with a name, whether or not it exists.
func (s *Server) Resolve(resource, name string) (why.Object, error) {
	mapping, err := s.mapping(resource)
	if err != nil {
		return why.Object{}, err
	}
	namespace := ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace, _, err = s.access.ToRawKubeConfigLoader().Namespace(); err != nil {
			return why.Object{}, err
		}
	}
	s.resource = mapping.Resource
	return why.ObjectOf(mapping.Resource.GroupResource(), namespace, name), nil
}

// mapping finds a resource by its plural, singular, short name or kind, optionally with a group or with a
// version and a group.
func (s *Server) mapping(name string) (*meta.RESTMapping, error) {
	versioned, resource := schema.ParseResourceArg(name)
	if versioned != nil {
		if kind, err := s.mapper.KindFor(*versioned); err == nil {
			return s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		}
	}
	kind, err := s.mapper.KindFor(resource.WithVersion(""))
	if err == nil {
		return s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if !meta.IsNoMatchError(err) {
		return nil, err
	}
	if mapping, err := s.mapper.RESTMapping(schema.ParseGroupKind(name)); err == nil {
		return mapping, nil
	}
	return nil, fmt.Errorf("the server at %s has no resource type %q: run bowline kubectl api-resources to list them",
		s.Address, name)
}

// Report returns the journal of the server about an object, or about all objects if about is the zero value.
func (s *Server) Report(ctx context.Context, about why.Object, last int) (*why.Report, error) {
	q := s.Client.REST().Get().AbsPath(why.Path).Param("limit", strconv.Itoa(last))
	if about != (why.Object{}) {
		q = q.Param("group", about.Group).Param("resource", about.Resource).Param("namespace",
			about.Namespace).Param("name", about.Name)
	}
	answer := q.Do(ctx)
	err := answer.Error() // unlike Raw, Error returns the Status that the server sent
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the server at %s does not serve %s: it is not bowline, or an older version", s.Address,
			why.Path)
	case err != nil:
		return nil, err
	}
	text, err := answer.Raw()
	var report *why.Report
	if err == nil {
		report, err = why.ReadReport(text)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the response of %s: %w", s.Address, err)
	}
	return report, nil
}

// CheckExists returns an error if the object does not exist. Resolve must be called first.
func (s *Server) CheckExists(ctx context.Context, about why.Object) error {
	_, err := client.Of[*metav1.PartialObjectMetadata](s.Client, s.resource).Get(ctx, about.Namespace, about.Name)
	switch {
	case apierrors.IsNotFound(err) && about.Namespace != "":
		return fmt.Errorf("%s %q not found in the namespace %s, and no run of a controller for it is known",
			s.resource.GroupResource(), about.Name, about.Namespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s %q not found, and no run of a controller for it is known", s.resource.GroupResource(),
			about.Name)
	}
	return err
}
