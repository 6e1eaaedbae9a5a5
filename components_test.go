//lint:file-ignore SA1019 Kubernetes serves its deprecated component statuses still

package bowline_test

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
)

// TestComponentsAreHealthyIfTheyRun checks the component statuses of planes that run a scheduler, other controllers, or
// neither.
func TestComponentsAreHealthyIfTheyRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		controllers []string
		want        map[string]string
	}{
		{[]string{"*"}, map[string]string{"scheduler": "", "controller-manager": "", "etcd-0": ""}},
		{[]string{"podgc"}, map[string]string{"scheduler": "this server does not run the scheduler",
			"controller-manager": "", "etcd-0": ""}},
		{[]string{"scheduler"}, map[string]string{"scheduler": "",
			"controller-manager": "this server does not run the controller-manager", "etcd-0": ""}},
	} {
		plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: c.controllers})
		if err != nil {
			t.Fatal(err)
		}
		all := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ComponentStatuses()
		list, err := all.List(t.Context(), metav1.ListOptions{})
		plane.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range list.Items {
			got[s.Name] = s.Conditions[0].Error
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("with %v: got errors %v, want %v", c.controllers, got, c.want)
		}
	}
}
