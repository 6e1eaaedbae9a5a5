package declare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/jonboulle/clockwork"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/util"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

// fieldManager is the field manager of kubectl apply, so that a later kubectl apply of the same file owns the
// same fields.
const fieldManager = apply.FieldManagerClientSideApply

// Applier applies objects to one server. It is not safe for concurrent use.
type Applier struct {
	config  *rest.Config
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	clients map[schema.GroupVersion]resource.RESTClient
	source  manifest.Source     // source of the object that is being applied
	warned  map[string]struct{} // warnings already reported for it
}

// NewApplier returns an Applier for the server of config. Canceling ctx cancels its requests. It calls warn for each
// warning of the server, with the source of the object that it is about.
func NewApplier(ctx context.Context, config *rest.Config,
	warn func(about manifest.Source, text string)) (*Applier, error) {
	a := &Applier{clients: map[schema.GroupVersion]resource.RESTClient{}, warned: map[string]struct{}{}}
	a.config = rest.CopyConfig(config)
	a.config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return contextTransport{inner, ctx} })
	a.config.WarningHandler = warnings(func(text string) {
		// Applying an object both reads and writes it, and the server may send the same warning twice.
		if _, repeated := a.warned[text]; !repeated {
			a.warned[text] = struct{}{}
			warn(a.source, text)
		}
	})
	client, err := discovery.NewDiscoveryClientForConfig(a.config)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	a.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	return a, nil
}

// warnings handles the Warning headers of responses.
type warnings func(text string)

// HandleWarningHeader implements rest.WarningHandler. It handles warnings with code 299, the code that
// Kubernetes uses.
func (w warnings) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		w(text)
	}
}

// Apply creates the object, or updates it as kubectl apply does: by a three-way merge of the last applied
// configuration, the declared object and the server's object. Fields set by others are preserved. Errors are
// of type *Error.
func (a *Applier) Apply(d manifest.Declared) (Applied, error) {
	a.source = d.Source
	clear(a.warned)
	mapping, err := a.mapping(d.Object.GroupVersionKind())
	if err != nil {
		return Applied{}, &Error{Source: d.Source, Err: err}
	}
	object := d.Object.DeepCopy()
	if err := setNamespace(object, mapping); err != nil {
		return Applied{}, &Error{Source: d.Source, Err: err}
	}
	helper, err := a.helper(mapping)
	if err != nil {
		return Applied{}, &Error{Source: d.Source, Err: err}
	}
	stored, err := send(helper, mapping, object)
	if err != nil {
		return Applied{}, &Error{Source: d.Source, Err: err}
	}
	return Applied{Source: d.Source, Object: stored, mapping: mapping}, nil
}

// mapping returns the resource of a kind. If the kind is unknown, it reads discovery again, because the kind
// may have been defined since.
func (a *Applier) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("%w: declare its CustomResourceDefinition too, or correct apiVersion and kind", err)
	}
	return mapping, err
}

// setNamespace checks that the object has a name, sets the default namespace if the kind is namespaced and the
// object has none, and removes the namespace if the kind is cluster-scoped.
func setNamespace(object *unstructured.Unstructured, mapping *meta.RESTMapping) error {
	if object.GetName() == "" {
		if object.GetGenerateName() != "" {
			return errors.New("metadata.name is required: generateName would create another object at each start")
		}
		return errors.New("metadata.name is required")
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		object.SetNamespace("")
	} else if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return nil
}

func (a *Applier) helper(mapping *meta.RESTMapping) (*resource.Helper, error) {
	version := mapping.GroupVersionKind.GroupVersion()
	client, ok := a.clients[version]
	if !ok {
		config := rest.CopyConfig(a.config)
		config.APIPath = "/apis"
		if version.Group == "" {
			config.APIPath = "/api"
		}
		config.GroupVersion = &version
		config.ContentConfig.NegotiatedSerializer = resource.UnstructuredPlusDefaultContentConfig().NegotiatedSerializer
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
		created, err := rest.RESTClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("creating a client for %s: %w", version, err)
		}
		client, a.clients[version] = created, created
	}
	return resource.NewHelper(client, mapping).
		WithFieldManager(fieldManager).WithFieldValidation(metav1.FieldValidationStrict), nil
}

// send creates or patches the object, and returns it as returned by the server.
func send(helper *resource.Helper, mapping *meta.RESTMapping,
	object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	modified, err := util.GetModifiedConfiguration(object, true, unstructured.UnstructuredJSONScheme)
	if err != nil {
		return nil, fmt.Errorf("setting the last-applied annotation: %w", err)
	}
	namespace, name := object.GetNamespace(), object.GetName()
	current, err := helper.Get(namespace, name)
	var answer runtime.Object
	switch {
	case apierrors.IsNotFound(err):
		if err := util.CreateApplyAnnotation(object, unstructured.UnstructuredJSONScheme); err != nil {
			return nil, fmt.Errorf("setting the last-applied annotation: %w", err)
		}
		answer, err = helper.Create(namespace, true, object)
	case err == nil:
		patcher := apply.Patcher{Mapping: mapping, Helper: helper, Overwrite: true, BackOff: clockwork.NewRealClock()}
		_, answer, err = patcher.Patch(current, modified, "", namespace, name, io.Discard)
	}
	if err != nil {
		return nil, err
	}
	stored, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the server returned a %T", answer)
	}
	return stored, nil
}
