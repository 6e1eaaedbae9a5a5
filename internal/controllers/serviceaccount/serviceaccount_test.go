package serviceaccount_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/namespace"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccount"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", bowlinetest.With(func(o *bowline.Options) {
		o.Controllers = []string{namespace.Name}
	}),
		bowlinetest.Controllers(process))
}

// process is the controller as a separate program, configured with a certificate.
var process = withAuthority("a certificate")

// user creates a namespace, deletes its service accounts and changes a bundle.
func user(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.For[*corev1.Namespace](c).Create(ctx, shop, metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	if err := client.For[*corev1.ServiceAccount](c).DeleteCollection(ctx, "shop", metav1.DeleteOptions{},
		metav1.ListOptions{}); err != nil {
		return err
	}
	bundles := client.For[*corev1.ConfigMap](c)
	patch := []byte(`{"data":{"ca.crt":"another"}}`)
	_, err = bundles.Patch(ctx, "default", serviceaccount.Bundle, "", types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}

func TestNamespacesAreProvisionedDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Program(process)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		s := bowlinetest.Scenario{Options: []bowlinetest.Option{trial.Alone()}, Processes: processes, Act: user,
			Budget: 30}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d instances", r.Tried(), len(processes))
	}
}
