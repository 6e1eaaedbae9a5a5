package suite

import (
	"context"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	conformance "k8s.io/kubernetes/test/conformance/testdata"
	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	"k8s.io/kubernetes/test/fixtures"

	// These register the specs. Other packages of the suite have none of conformance.
	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/architecture"
	_ "k8s.io/kubernetes/test/e2e/auth"
	_ "k8s.io/kubernetes/test/e2e/common"
	_ "k8s.io/kubernetes/test/e2e/dra"
	_ "k8s.io/kubernetes/test/e2e/instrumentation"
	_ "k8s.io/kubernetes/test/e2e/kubectl"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"
	_ "k8s.io/kubernetes/test/e2e/scheduling"
	_ "k8s.io/kubernetes/test/e2e/storage"

	// These set hooks of the framework, which print the state of a namespace after a failure.
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/utils/ktesting/format"
)

var specTimeout = flag.Duration("spec-timeout", 15*time.Minute, "the time after which a spec fails")

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	testfiles.AddFileSource(fixtures.GetTestFixturesFS())
	testfiles.AddFileSource(conformance.GetConformanceTestdataFS())
	ginkgo.AddTreeConstructionNodeArgsTransformer(limitTime)
	framework.AfterReadingAllFlags(&framework.TestContext) // constructs the tree
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) { e2e.RunE2ETests(t) }

// limitTime adds the time limit to each spec that can be canceled and has no limit of its own.
func limitTime(nodeType types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
	if nodeType != types.NodeTypeIt {
		return text, args, nil
	}
	cancelable := false
	for _, arg := range args {
		switch arg.(type) {
		case ginkgo.SpecTimeout, ginkgo.NodeTimeout:
			return text, args, nil
		}
		cancelable = cancelable || takesContext(reflect.TypeOf(arg))
	}
	if cancelable {
		args = append(args, ginkgo.SpecTimeout(*specTimeout))
	}
	return text, args, nil
}

// takesContext reports whether a type is a function with a context, as the bodies of specs that can be canceled are.
func takesContext(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Func && t.NumIn() > 0 &&
		t.In(0).Implements(reflect.TypeFor[context.Context]())
}
