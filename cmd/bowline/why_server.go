package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/why"
)

// whyServer is who is asked why, and what its names for resources are.
type whyServer struct {
	access  cmdutil.Factory
	mapper  meta.RESTMapper
	client  *client.Client
	address string
	version schema.GroupVersionResource // of what find found
}

// factory reaches the server as kubectl does, so that names mean what they mean there.
func (f *whyFlags) factory() (cmdutil.Factory, error) {
	access := genericclioptions.NewConfigFlags(true)
	access.KubeConfig, access.Namespace = &f.kubeconfig, &f.namespace
	if f.kubeconfig == "" && os.Getenv(kubeconfigVariable) == "" {
		running, err := runningKubeconfig()
		if err != nil {
			return nil, err
		}
		access.KubeConfig = &running
	}
	return cmdutil.NewFactory(access), nil
}

func (f *whyFlags) server() (*whyServer, error) {
	access, err := f.factory()
	if err != nil {
		return nil, err
	}
	config, err := access.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	mapper, err := access.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return &whyServer{access: access, mapper: mapper, client: c, address: config.Host}, nil
}

// find is the object of a name, whether it exists or not.
func (s *whyServer) find(resource, name string) (why.Object, error) {
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
	s.version = mapping.Resource
	return why.ObjectOf(mapping.Resource.GroupResource(), namespace, name), nil
}

// mapping finds a resource by any of its names: plural, singular, short, kind; with a group, or a version and a group.
func (s *whyServer) mapping(name string) (*meta.RESTMapping, error) {
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
	return nil, fmt.Errorf("the server at %s has no resource type %q: bowline kubectl api-resources lists them", s.address, name)
}

// ask gets what the server knows.
func (s *whyServer) ask(ctx context.Context, about why.Object, last int) (*why.Report, error) {
	q := s.client.REST().Get().AbsPath(why.Path).Param("limit", strconv.Itoa(last))
	if about != (why.Object{}) {
		q = q.Param("group", about.Group).Param("resource", about.Resource).Param("namespace", about.Namespace).Param("name", about.Name)
	}
	answer := q.Do(ctx)
	err := answer.Error() // of the Status that the server sent, which Raw's is not
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the server at %s does not know %s: it is not bowline, or an older one", s.address, why.Path)
	case err != nil:
		return nil, err
	}
	text, err := answer.Raw()
	var report *why.Report
	if err == nil {
		report, err = why.ReadReport(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", s.address, err)
	}
	return report, nil
}

// exists is an error when there is no object of which something could be known.
func (s *whyServer) exists(ctx context.Context, about why.Object) error {
	_, err := client.Of[*metav1.PartialObjectMetadata](s.client, s.version).Get(ctx, about.Namespace, about.Name)
	switch {
	case apierrors.IsNotFound(err) && about.Namespace != "":
		return fmt.Errorf("there is no %s %q in the namespace %s, and nothing is known of one",
			s.version.GroupResource(), about.Name, about.Namespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s %q, and nothing is known of one", s.version.GroupResource(), about.Name)
	}
	return err
}

// complete offers the server's types, and the names of its objects.
func (f *whyFlags) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	access, err := f.factory()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completion.ResourceTypeAndNameCompletionFunc(access)(cmd, args, word)
}
