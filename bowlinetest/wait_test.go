package bowlinetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
)

func TestWaitObservesEachState(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		maps := bowlinetest.Client[*corev1.ConfigMap](t, p)
		seen := make(chan string)
		go func() {
			bowlinetest.Wait(t, p, "default", "a", func(m *corev1.ConfigMap) bool {
				seen <- m.Data["n"]
				return m.Data["n"] == "3"
			})
			bowlinetest.WaitForDeletion[*corev1.ConfigMap](t, p, "default", "a")
			close(seen)
		}()
		synctest.Wait() // the watch has started, and the object does not exist yet
		for _, n := range []string{"1", "2", "3"} {
			m := configMap("a")
			m.Data = map[string]string{"n": n}
			_, err := maps.Update(t.Context(), m, metav1.UpdateOptions{})
			if n == "1" {
				_, err = maps.Create(t.Context(), m, metav1.CreateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := <-seen; got != n {
				t.Errorf("got state %s, want %s", got, n)
			}
		}
		synctest.Wait()
		if err := maps.Delete(t.Context(), "default", "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if n, open := <-seen; open {
			t.Errorf("got state %s after the end", n)
		}
	})
}

func TestWaitRestartsWatches(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		began := time.Now()
		go func() {
			time.Sleep(12 * time.Hour) // longer than the server lets any watch live
			p.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}")
		}()
		bowlinetest.Wait(t, p, "default", "late", func(*corev1.ConfigMap) bool { return true })
		if took := time.Since(began); took != 12*time.Hour {
			t.Errorf("took %s", took)
		}
	}, bowlinetest.Timeout(24*time.Hour))
}

func TestWaitReportsLastState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration // of Wait alone, without the cleanup
		mustFail(t, func(t testing.TB) {
			p := bowlinetest.Start(t, bowlinetest.Objects(configMap("a")))
			defer func(began time.Time) { took = time.Since(began) }(time.Now())
			bowlinetest.Wait(t, p, "default", "a", func(m *corev1.ConfigMap) bool { return m.Data != nil })
		}, "the ConfigMap default/a did not meet the condition within 10s; it is\n", "name: a")
		if took != 10*time.Second {
			t.Errorf("took %s", took)
		}
		mustFail(t, func(t testing.TB) {
			bowlinetest.Wait(t, bowlinetest.Start(t), "default", "a", func(m *corev1.ConfigMap) bool { return true })
		}, "it does not exist")
		mustFail(t, func(t testing.TB) {
			p := bowlinetest.Start(t, bowlinetest.Timeout(time.Minute))
			bowlinetest.WaitForDeletion[*corev1.Namespace](t, p, "", "default")
		}, "the Namespace default did not meet the condition within 1m0s; it is\n")
		mustFail(t, func(t testing.TB) {
			bowlinetest.Wait(t, bowlinetest.Start(t), "default", "a", func(*Boat) bool { return true })
		}, "the kind of a *bowlinetest_test.Boat is not known")
	})
}
