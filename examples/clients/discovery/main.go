// Command discovery lists what a server serves, with client-go's discovery client: groups, their versions,
// and the resources of each, like kubectl api-versions and kubectl api-resources. Through discovery a client
// learns of custom resources.
//
//	go run ./examples/clients/discovery [--kubeconfig FILE] [--context NAME] [GROUP[/VERSION]]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Arguments: "[GROUP[/VERSION]]", Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	client, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return err
	}
	groups, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "GROUP/VERSION\tRESOURCE\tKIND\tNAMESPACED\tVERBS")
	wanted, found := s.Argument(""), false
	for _, group := range groups {
		for _, version := range group.Versions {
			if wanted == "" || wanted == group.Name || wanted == version.GroupVersion {
				found = true
				show(table, version.GroupVersion, lists)
			}
		}
	}
	if !found {
		err = errors.Join(fmt.Errorf("%s serves no group %s: run this program without an argument to list all groups",
			s.Config.Host, wanted),
			err)
	}
	return errors.Join(table.Flush(), err) // an unavailable API group is an error, but does not hide the others
}

// show prints the resources of a group version.
func show(table *tabwriter.Writer, version string, lists []*metav1.APIResourceList) {
	for _, list := range lists {
		for _, r := range list.APIResources {
			if list.GroupVersion == version {
				fmt.Fprintf(table, "%s\t%s\t%s\t%t\t%s\n", version, r.Name, r.Kind, r.Namespaced,
					strings.Join(r.Verbs, ","))
			}
		}
	}
}
