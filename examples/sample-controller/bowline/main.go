// Command bowline is the complete program of the documents, based on Bowline's library: it has the same
// behavior and the same log lines as the program in the parent folder, and contains no generated code.
//
//	go run ./examples/sample-controller/bowline [--kubeconfig FILE] [--master URL] [--context NAME]
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// Network describes a Network resource.
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NetworkSpec `json:"spec"`
}

// NetworkSpec is the network that the user wants.
type NetworkSpec struct {
	Cidr    string `json:"cidr"`
	Gateway string `json:"gateway"`
}

// DeepCopyObject implements runtime.Object.
func (n *Network) DeepCopyObject() runtime.Object {
	out := *n
	n.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// networksResource identifies Networks on the server.
var networksResource = schema.GroupVersionResource{Group: "samplecrd.k8s.io", Version: "v1", Resource: "networks"}

func main() {
	var flags client.Flags
	flags.Bind(flag.CommandLine)
	flag.Parse()
	slog.SetDefault(slog.New(logr.ToSlogHandler(textlogger.NewLogger(textlogger.NewConfig())))) // in klog's format

	config, err := client.Load(flags)
	if err != nil {
		klog.Exitf("Error building kubeconfig: %s", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, config, &neutron.Memory{}); err != nil {
		klog.Exitf("Error running controller: %s", err)
	}
}

// run runs the controller until ctx ends, and returns when everything that it started has ended.
func run(ctx context.Context, config *rest.Config, neutron neutron.Interface) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Resync: 30 * time.Second, Transform: slim})
	if err != nil {
		return err
	}
	version, err := m.Client().Ping(ctx)
	if err != nil {
		return err
	}
	klog.Infof("Waiting for the Networks of the server (%s)", version)
	networks := controller.ObjectsOf[*Network](m, networksResource)
	left := &controller.Trigger{}
	for _, n := range neutron.Names() {
		left.Add(controller.Request(n)) // its object may have been deleted while the controller did not run
	}
	err = m.Build("Networks").For(networks, controller.ResourceVersionChanged).Watches(left).
		With(controller.Options{Workers: 2}).Complete(&reconciler{networks, neutron})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// slim removes fields that this controller does not use from cached objects, to save memory: managed fields,
// annotations (such as kubectl's copy of the object), and the kind. Cached objects must therefore not be
// written back; this controller writes only to Neutron.
func slim(obj client.Object) (client.Object, error) {
	obj.SetManagedFields(nil)
	obj.SetAnnotations(nil)
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, nil
}

// reconciler makes Neutron's networks match the Network objects.
type reconciler struct {
	networks *controller.Objects[*Network]
	neutron  neutron.Interface
}

// Reconcile compares the declared network with the actual one and corrects the difference.
func (r *reconciler) Reconcile(_ context.Context, key controller.Request) (done controller.Result, err error) {
	network, err := r.networks.Get(key.Namespace, key.Name)
	if errors.IsNotFound(err) {
		klog.Warningf("Network: %s does not exist in local cache, will delete it from Neutron ...", key)
		return done, r.neutron.Delete(key.Namespace, key.Name)
	}
	if err != nil { // it exists but cannot be decoded
		return done, err
	}
	klog.Infof("[Neutron] Try to process network: %s %+v ...", key, network.Spec)
	if network.Spec.Cidr == "" {
		klog.Warningf("Network: %s has no spec.cidr: it is ignored until it has one", key)
		return done, nil
	}
	wanted := neutron.Network(network.Spec)
	actual, exists := r.neutron.Get(key.Namespace, key.Name)
	switch {
	case !exists:
		err = r.neutron.Create(key.Namespace, key.Name, wanted)
	case actual != wanted:
		err = r.neutron.Update(key.Namespace, key.Name, wanted)
	}
	return done, err
}
