package nginx

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// busy is a server whose Serve blocks until the test releases it.
type busy struct {
	recorder
	end chan struct{}
}

func (b *busy) Serve(ctx context.Context, c Configuration) error {
	<-b.end
	return b.recorder.Serve(ctx, c)
}

// All changes during a reload are served by a single further reload.
func TestBurstCausesOneReload(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		to := &busy{end: make(chan struct{})}
		stop := controllerAt(t, p, "127.0.0.1:80", to)
		synctest.Wait()
		ingresses := bowlinetest.Client[*networkingv1.Ingress](t, p)
		var hosts []string
		for n := range 100 {
			hosts = append(hosts, fmt.Sprintf("h%d.com", n))
			i := newIngress(fmt.Sprint("i", n)).prefix(hosts[n], "/", "web")
			if _, err := ingresses.Create(t.Context(), i.Ingress, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for range 2 { // the first configuration, without an Ingress, and the one with all of them
			to.end <- struct{}{}
			synctest.Wait()
		}
		to.has(t, "a burst", strings.Join(hosts, " "), hosts...)
		close(to.end)
		synctest.Wait()
		if n := len(to.serving); n != 2 {
			t.Errorf("100 Ingresses caused %d reloads", n-1)
		}
		stop()
	})
}
