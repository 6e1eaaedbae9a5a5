// Command sample-controller is the program of the documents: a controller of Networks, with the client,
// informer and lister that Kubernetes' generators create from its types. README.md lists the differences from
// the documents and the reasons. The folder bowline contains the same program based on Bowline's library.
//
//	go run ./examples/sample-controller --kubeconfig FILE [--master URL]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	clientset "github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/clientset/versioned"
	informers "github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/informers/externalversions"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

func main() {
	var masterURL, kubeconfig string
	flag.StringVar(&kubeconfig, "kubeconfig", "",
		"kubeconfig `file` (default: the service account of the pod it runs in)")
	flag.StringVar(&masterURL, "master", "", "`URL` of the server, instead of the one in the kubeconfig")
	flag.Parse()

	cfg, err := clientcmd.BuildConfigFromFlags(masterURL, kubeconfig)
	if err != nil {
		klog.Exitf("Error building kubeconfig: %s", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, cfg, &neutron.Memory{}); err != nil {
		klog.Exitf("Error running controller: %s", err)
	}
}

// run runs the controller until ctx ends, and returns when everything that it started has ended.
func run(ctx context.Context, cfg *rest.Config, neutron neutron.Interface) error {
	kubeClient, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	networkClient, err := clientset.NewForConfig(cfg)
	if err != nil {
		return err
	}
	version, err := kubeClient.DiscoveryClient.ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("ask the server for its version: %w", err)
	}
	klog.Infof("Waiting for the Networks of the server (%s)", version)

	networkInformerFactory := informers.NewSharedInformerFactory(networkClient, 30*time.Second)
	controller, err := NewController(kubeClient, networkClient, networkInformerFactory.Samplecrd().V1().Networks(),
		neutron)
	if err != nil {
		return err
	}
	networkInformerFactory.Start(ctx.Done())
	defer networkInformerFactory.Shutdown()
	return controller.Run(2, ctx.Done())
}
