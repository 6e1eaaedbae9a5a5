package informer_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../docs/informer.md"

// terms are the words that descriptions of Kubernetes' controllers use for their parts.
const terms = `
kubeconfig clusters users contexts RESTClient ClientSet DynamicClient DiscoveryClient unstructured InClusterConfig BuildConfigFromFlags NewForConfig
Informer SharedInformer SharedIndexInformer SharedInformerFactory InformerFactory NewSharedInformerFactory InformerFor Start WaitForCacheSync HasSynced
Reflector ListAndWatch ListerWatcher LIST WATCH WatchEvent ADDED MODIFIED DELETED BOOKMARK chunked ResourceVersion lastSyncResourceVersion resyncPeriod resync
Delta DeltaFIFO FIFO Queue Store cache UndeltaStore PushFunc KeyOf ObjKey MetaNamespaceKeyFunc queue items Add Update Delete Replace Pop
Added Updated Deleted Replaced Sync HandleDeltas HandlerDelta processLoop processDeltas clientState NewIndexerInformer newInformer
distribute sharedProcessor processorListener Listener AddEventHandler ResourceEventHandler EventHandler AddFunc UpdateFunc DeleteFunc
Indexer ThreadSafeMap ThreadSafeStore IndexFunc Indexers Indices Index MetaNamespaceIndexFunc NodeNameIndexFunc Lister
WorkQueue dirty processing AddAfter AddRateLimited Forget NumRequeues ShutDown ShutDownWithDrain RateLimiter
exponential counter mixed NewNamedRateLimitingQueue enqueue
worker runWorker processNextWorkItem processWorkItem syncHandler SplitMetaNamespaceKey wait.Until threadiness stopCh
Reconcile desired actual status spec kube-controller-manager event-driven CRD genclient clientset
RateLimiter BucketRateLimiter ItemExponentialFailureRateLimiter ItemFastSlowRateLimiter MaxOfRateLimiter
Do Into masterURL addKnownTypes AddToScheme TwoWayMergePatch qps token Neutron Etcd Initializer InitializerConfiguration
Group Version Resource Admission Validation Convert MUX Registry`

func TestDocumentExplainsTerms(t *testing.T) {
	t.Parallel()
	text := read(t, page)
	for _, term := range strings.Fields(terms) {
		if !regexp.MustCompile(`(^|[^A-Za-z])` + regexp.QuoteMeta(term) + `([^A-Za-z]|$)`).MatchString(text) {
			t.Errorf("%s does not mention %s", page, term)
		}
	}
	for _, term := range []string{"token bucket", "fast-slow", "max-of", "control loop", "informer map",
		"Super Version"} {
		if !strings.Contains(text, term) {
			t.Errorf("%s does not mention a %s", page, term)
		}
	}
}

// TestDocumentLinksAreValid follows its links and reads its pictures.
func TestDocumentLinksAreValid(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile("`[^`\n]*`|(?m)^    .*$").ReplaceAllString(read(t, page), "") // code links nowhere
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1)
	shown := map[string]bool{}
	for _, link := range links {
		file := filepath.Join(filepath.Dir(page), link[1])
		if filepath.Ext(file) == ".svg" {
			shown[file] = true
			readXML(t, file)
		} else if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	drawn, err := filepath.Glob("../docs/informer-*.svg")
	if err != nil || len(drawn) == 0 || len(drawn) != len(shown) {
		t.Errorf("got %d pictures (%v), but %s shows %d", len(drawn), err, page, len(shown))
	}
}

func readXML(t *testing.T, file string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(read(t, file))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
