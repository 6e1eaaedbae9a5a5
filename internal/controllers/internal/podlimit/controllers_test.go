package podlimit_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/controllers/replicationcontroller"
	"github.com/bowline-dev/bowline/internal/controllers/statefulset"
	"github.com/bowline-dev/bowline/internal/trial"
)

const (
	template = `
  template:
    metadata: {labels: {app: huge}}
    spec: {restartPolicy: RESTART, containers: [{name: c, image: "c:1"}]}
`
	selector = "selector: {matchLabels: {app: huge}}"
)

// huge returns an object called huge of a kind, with a spec and the template of its pods.
func huge(apiVersion, kind, restart, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: huge}\nspec:\n  %s", apiVersion, kind, spec) +
		strings.Replace(template, "RESTART", restart, 1)
}

const small = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: small}
spec:
  replicas: 3
  selector: {matchLabels: {app: small}}
  template:
    metadata: {labels: {app: small}}
    spec: {containers: [{name: c, image: "c:1"}]}
`

// A client asks for as many pods as a number can hold. The controllers create no more than the limit permits within its
// window, and go on when the window has passed. A condition and an event report that, and a Deployment beside it is
// complete meanwhile.
func TestOneObjectCreatesFewPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, manifest string
		conditions     func(*testing.T, *bowlinetest.Plane) []string
	}{
		{"ReplicationController", huge("v1", "ReplicationController", "Always", "replicas: 2147483647"),
			conditionsOf(func(rc *corev1.ReplicationController) []corev1.ReplicationControllerCondition {
				return rc.Status.Conditions
			})},
		{"Deployment", huge("apps/v1", "Deployment", "Always", "replicas: 2147483647\n  "+selector),
			conditionsOf(func(d *appsv1.Deployment) []appsv1.DeploymentCondition { return d.Status.Conditions })},
		{"StatefulSet", huge("apps/v1", "StatefulSet", "Always",
			"replicas: 2147483647\n  podManagementPolicy: Parallel\n  "+selector),
			conditionsOf(func(set *appsv1.StatefulSet) []appsv1.StatefulSetCondition { return set.Status.Conditions })},
		{"Job", huge("batch/v1", "Job", "Never", "parallelism: 2147483647\n  completions: 2147483647"),
			conditionsOf(func(j *batchv1.Job) []batchv1.JobCondition { return j.Status.Conditions })},
		{"CronJob", hugeCronJob,
			conditionsOf(func(j *batchv1.Job) []batchv1.JobCondition { return j.Status.Conditions })},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				p.Apply(t, c.manifest)
				if c.kind == "CronJob" {
					time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
				}
				p.Apply(t, small)
				time.Sleep(time.Second)
				synctest.Wait()
				if n := len(podsOf(t, p, "small")); n != 3 {
					t.Errorf("the small Deployment has %d pods, want 3", n)
				}
				if n := len(podsOf(t, p, "huge")); n != podlimit.MaxRecent {
					t.Errorf("first second: got %d pods, want %d", n, podlimit.MaxRecent)
				}
				if all := strings.Join(c.conditions(t, p), "; "); !strings.Contains(all, "{ReplicaFailure True") ||
					!strings.Contains(all, podlimit.Reason) || !strings.Contains(all, "at most 20000 pods") {
					t.Errorf("got conditions %s, want the limit", all)
				}
				if c.kind == "Deployment" {
					time.Sleep(podlimit.Window)
					synctest.Wait()
					if n := len(podsOf(t, p, "huge")); n != 2*podlimit.MaxRecent {
						t.Errorf("after another window: got %d pods, want %d", n, 2*podlimit.MaxRecent)
					}
				}
				if n := countEvents(t, p); n != 1 {
					t.Errorf("got %d events, want 1", n)
				}
			}, trial.Alone(), bowlinetest.Manage(addControllers))
		})
	}
}

const hugeCronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: huge}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      parallelism: 2147483647
      completions: 2147483647
      template:
        metadata: {labels: {app: huge}}
        spec: {restartPolicy: Never, containers: [{name: c, image: "c:1"}]}
`

func addControllers(m *controller.Manager) error {
	cronjob.Add(m)
	daemonset.Add(m)
	deployment.Add(m)
	job.Add(m)
	replicaset.Add(m)
	replicationcontroller.Add(m)
	statefulset.Add(m)
	return nil
}

// conditionsOf returns a function that returns the conditions of the objects of a kind that are called huge or were
// created for one.
func conditionsOf[T client.Object, C any](conditions func(T) []C) func(*testing.T, *bowlinetest.Plane) []string {
	return func(t *testing.T, p *bowlinetest.Plane) (all []string) {
		t.Helper()
		page, err := bowlinetest.Client[T](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range page.Items {
			if strings.HasPrefix(obj.GetName(), "huge") {
				for _, c := range conditions(obj) {
					all = append(all, fmt.Sprintf("%v", c))
				}
			}
		}
		return all
	}
}

// podsOf returns the pods with a label app.
func podsOf(t *testing.T, p *bowlinetest.Plane, app string) []*corev1.Pod {
	t.Helper()
	page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default",
		metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// countEvents returns how often the limit was reported by an event.
func countEvents(t *testing.T, p *bowlinetest.Plane) (times int32) {
	t.Helper()
	page, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default",
		metav1.ListOptions{FieldSelector: "type=Warning,reason=" + podlimit.Reason})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page.Items {
		times += event.Count
	}
	return times
}
