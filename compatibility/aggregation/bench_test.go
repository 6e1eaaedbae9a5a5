package aggregation

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// BenchmarkRequests sends each request once through Bowline and once to the sample server itself, in turn. The unit x
// is the time through Bowline, divided by the direct time.
func BenchmarkRequests(b *testing.B) {
	f := newFixture(b)
	start(b, "sample-apiserver", f.sample...)
	f.awaitAvailable(metav1.ConditionTrue)
	through, direct := f.flunders.Namespace("default"), f.direct().Namespace("default")
	f.create(through, flunder("read", ""))
	b.Run("get", func(b *testing.B) {
		compare(b, through, direct, func(ctx context.Context, in dynamic.ResourceInterface, _ int) error {
			_, err := in.Get(ctx, "read", metav1.GetOptions{})
			return err
		})
	})
	b.Run("create", func(b *testing.B) {
		compare(b, through, direct, func(ctx context.Context, in dynamic.ResourceInterface, i int) error {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON([]byte(flunder(fmt.Sprintf("created-%d-%d", b.N, i), ""))); err != nil {
				return err
			}
			_, err := in.Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	})
}

// direct returns a client of the sample server itself. The server accepts the certificate of the administrator, because
// it asks Bowline for the authority that signed it.
func (f fixture) direct() dynamic.NamespaceableResourceInterface {
	config := rest.CopyConfig(f.config)
	config.Host, config.TLSClientConfig.CAData, config.Insecure = "https://"+f.address, nil, true
	return dynamic.NewForConfigOrDie(config).Resource(wardle.WithResource("flunders"))
}

// compare sends b.N requests each way. request gets a number that no other request has.
func compare(b *testing.B, through, direct dynamic.ResourceInterface,
	request func(ctx context.Context, in dynamic.ResourceInterface, i int) error) {
	b.Helper()
	var took [2]time.Duration
	for i := range 2 * b.N {
		way := (i + i/2) % 2 // each way is the first of a pair as often as the other
		begun := time.Now()
		if err := request(b.Context(), []dynamic.ResourceInterface{through, direct}[way], i); err != nil {
			b.Fatal(err)
		}
		took[way] += time.Since(begun)
	}
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "x")
	b.ReportMetric(float64(took[1].Microseconds())/float64(b.N), "µs/direct")
	b.ReportMetric(0, "ns/op")
}
