package bowlinetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// named accepts an object in any state.
func named[T any](T) bool { return true }

func remove[T client.Object](t *testing.T, p *bowlinetest.Plane, namespace, name string) {
	t.Helper()
	if err := bowlinetest.Client[T](t, p).Delete(t.Context(), namespace, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A plane runs the parts of kube-controller-manager that work on API objects alone, by default also in tests.
func TestPlaneMatchesClusterOverTime(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)
		p.Apply(t,
			`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: shop, name: q}, spec: {hard: {configmaps: 9}}}`)
		owner := p.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: owner}}`)[0]
		p.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: owned,
			ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: `+string(owner.GetUID())+`}]}}`)
		// The service account and a ConfigMap are created for the namespace; the quota counts the latter.
		bowlinetest.Wait(t, p, "shop", "default", named[*corev1.ServiceAccount])
		bowlinetest.Wait(t, p, "shop", "kube-root-ca.crt", named[*corev1.ConfigMap])
		used := func(n int64) func(*corev1.ResourceQuota) bool {
			return func(q *corev1.ResourceQuota) bool {
				return q.Status.Used.Name("configmaps", resource.DecimalSI).Value() == n
			}
		}
		bowlinetest.Wait(t, p, "shop", "q", used(2))

		remove[*corev1.ConfigMap](t, p, "shop", "owner")
		bowlinetest.WaitForDeletion[*corev1.Secret](t, p, "shop", "owned")
		bowlinetest.Wait(t, p, "shop", "q", used(1))

		remove[*corev1.Namespace](t, p, "", "shop")
		bowlinetest.WaitForDeletion[*corev1.Namespace](t, p, "", "shop")
		remaining, err := bowlinetest.Client[*corev1.ConfigMap](t, p).List(t.Context(), "shop", metav1.ListOptions{})
		if err != nil || len(remaining.Items) > 0 {
			t.Errorf("%d ConfigMaps have outlived their namespace, %v", len(remaining.Items), err)
		}
	})
}

// Finished jobs are deleted after their TTL with their dependents, and so are pods of nodes that do not
// exist.
func TestPlaneRemovesExpiredObjects(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		job := p.Apply(t,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {ttlSecondsAfterFinished: 3600, template: {spec: {
			restartPolicy: Never, containers: [{name: c, image: i}]}}}}`)[0]
		p.Apply(t,
			`{apiVersion: v1, kind: Pod, metadata: {name: p, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: `+string(job.GetUID())+`}]},
			spec: {containers: [{name: c, image: i}]}}`)
		p.Apply(t,
			`{apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}`)
		jobs := bowlinetest.Client[*batchv1.Job](t, p)
		finished, err := jobs.Get(t.Context(), "default", "j")
		if err != nil {
			t.Fatal(err)
		}
		now := metav1.Now()
		finished.Status.StartTime = &now
		for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
			finished.Status.Conditions = append(finished.Status.Conditions,
				batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
		if _, err := jobs.UpdateStatus(t.Context(), finished, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		bowlinetest.Wait(t, p, "default", "j", named[*batchv1.Job])
		bowlinetest.WaitForDeletion[*corev1.Pod](t, p, "default", "lost")
		time.Sleep(time.Second)
		bowlinetest.WaitForDeletion[*batchv1.Job](t, p, "default", "j")
		bowlinetest.WaitForDeletion[*corev1.Pod](t, p, "default", "p")
	})
}
