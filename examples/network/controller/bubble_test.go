package controller_test

import (
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// A server, the controller and an unmodified client-go informer run together for two days. The informer's
// resync every ten minutes causes no write.
func TestTwoDaysOfResyncWriteNothing(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.define()
		defer w.run(nil, nil).stop()
		dyn, err := dynamic.NewForConfig(w.plane.RESTConfig())
		if err != nil {
			w.Fatal(err)
		}
		factory := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 10*time.Minute)
		shared := factory.ForResource(v1.SchemeGroupVersion.WithResource(v1.Resource)).Informer()
		var resyncs, changes atomic.Int64
		_, err = shared.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
			if old == obj {
				resyncs.Add(1)
			} else {
				changes.Add(1)
			}
		}})
		if err != nil {
			w.Fatal(err)
		}
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)

		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		w.expectNetworks(n.UID)
		made, writes := w.get(v1.SchemeGroupVersion, "a"), w.files.Writes()
		changes.Store(0)
		time.Sleep(48 * time.Hour)
		waitIdle()
		if got := resyncs.Load(); got != 288 {
			w.Errorf("got %d resyncs in two days, want 288", got)
		}
		if got := changes.Load(); got != 0 {
			w.Errorf("the object changed %d times in two days", got)
		}
		if got := w.files.Writes(); writes != 1 || got != 1 {
			w.Errorf("the provider was written to %d times, then %d more times; want once", writes, got-writes)
		}
		if now := w.get(v1.SchemeGroupVersion, "a"); now.ResourceVersion != made.ResourceVersion {
			w.Errorf("the object was written to: revision %s, then %s", made.ResourceVersion, now.ResourceVersion)
		}
		close(stop)
		factory.Shutdown()
	})
}
