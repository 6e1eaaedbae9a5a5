// Command bowline is the documents' program on Bowline's library, whole: the same Networks, the same behaviour and the same
// lines in the log as the program in the folder above, and nothing is generated.
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
	"github.com/bowline-dev/bowline/informer"
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

// networksResource is where the server has Networks.
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
	context.AfterFunc(ctx, stop) // a second signal ends the process, whatever it does
	if err := run(ctx, config, &neutron.Memory{}); err != nil {
		klog.Exitf("Error running controller: %s", err)
	}
}

// run runs the controller until ctx ends, and returns when all that it started has ended.
func run(ctx context.Context, config *rest.Config, neutron neutron.Interface) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Resync: 30 * time.Second, Transform: slim})
	if err != nil {
		return err
	}
	version, err := m.Client().Reach(ctx)
	if err != nil {
		return err
	}
	klog.Infof("Waiting for the Networks of the server (%s)", version)
	networks := informer.For[*Network](m.Informers(), networksResource)
	left := &controller.Trigger{}
	for _, n := range neutron.Names() {
		left.Add(controller.Request(n)) // its object may have been deleted while nobody watched
	}
	m.Add(controller.Options{
		Name:       "Networks",
		Reconciler: &reconciler{networks.Lister(), neutron},
		Sources:    []controller.Source{controller.For(networks, controller.ResourceVersionChanged), left},
		Workers:    2,
	})
	return m.Run(ctx)
}

// slim keeps less of each object in memory: not who set which of its fields, nor kubectl's copy of it, nor its kind, which nobody
// here reads. So what is read from the cache must never be written back: this controller writes to Neutron alone.
func slim(obj client.Object) (client.Object, error) {
	obj.SetManagedFields(nil)
	obj.SetAnnotations(nil)
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, nil
}

// reconciler keeps Neutron's networks as the Network objects declare them.
type reconciler struct {
	networks informer.Lister[*Network]
	neutron  neutron.Interface
}

// Reconcile compares what is declared under a key with what is there, and makes it so.
func (r *reconciler) Reconcile(_ context.Context, key controller.Request) (done controller.Result, err error) {
	network, err := r.networks.Get(key.Namespace, key.Name)
	if errors.IsNotFound(err) {
		klog.Warningf("Network: %s does not exist in local cache, will delete it from Neutron ...", key)
		return done, r.neutron.Delete(key.Namespace, key.Name)
	}
	if err != nil { // it is there, and cannot be read
		return done, err
	}
	klog.Infof("[Neutron] Try to process network: %s %+v ...", key, network.Spec)
	if network.Spec.Cidr == "" {
		klog.Warningf("Network: %s has no spec.cidr: nothing is made of it until it has", key)
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
