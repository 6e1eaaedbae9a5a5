package clientgo

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycoordination "k8s.io/client-go/applyconfigurations/coordination/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applyevents "k8s.io/client-go/applyconfigurations/events/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	applyscheduling "k8s.io/client-go/applyconfigurations/scheduling/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

const ns = metav1.NamespaceDefault

// declared is the annotation that the apply configurations of the tests own.
var declared = map[string]string{"declared": "yes"}

// kindUnderTest is a typedKind with any type arguments.
type kindUnderTest interface {
	fmt.Stringer
	testVerbs(*testing.T)
	testApply(*testing.T)
}

// everyKind returns every built-in kind that is served, with client-go's typed clients.
func everyKind(t *testing.T, config *rest.Config) []kindUnderTest {
	t.Helper()
	c, now := plane.Must(kubernetes.NewForConfig(config))(t), metav1.NowMicro()
	return append(coreKinds(c),
		typedKind[*appsv1.Deployment, *appsv1.DeploymentList, *applyapps.DeploymentApplyConfiguration]{
			client: c.AppsV1().Deployments(ns), status: true,
			example: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: selector(), Template: template()}},
			declare: func(name string) *applyapps.DeploymentApplyConfiguration {
				return applyapps.Deployment(name, ns).WithAnnotations(declared).
					WithSpec(applyapps.DeploymentSpec().WithSelector(applySelector()).WithTemplate(applyTemplate()))
			},
			extract: applyapps.ExtractDeployment,
		},
		typedKind[*appsv1.ReplicaSet, *appsv1.ReplicaSetList, *applyapps.ReplicaSetApplyConfiguration]{
			client: c.AppsV1().ReplicaSets(ns), status: true,
			example: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: selector(), Template: template()}},
			declare: func(name string) *applyapps.ReplicaSetApplyConfiguration {
				return applyapps.ReplicaSet(name, ns).WithAnnotations(declared).
					WithSpec(applyapps.ReplicaSetSpec().WithSelector(applySelector()).WithTemplate(applyTemplate()))
			},
			extract: applyapps.ExtractReplicaSet,
		},
		typedKind[*coordinationv1.Lease, *coordinationv1.LeaseList, *applycoordination.LeaseApplyConfiguration]{
			client:  c.CoordinationV1().Leases(ns),
			example: &coordinationv1.Lease{},
			declare: func(name string) *applycoordination.LeaseApplyConfiguration {
				return applycoordination.Lease(name, ns).WithAnnotations(declared)
			},
			extract: applycoordination.ExtractLease,
		},
		typedKind[*eventsv1.Event, *eventsv1.EventList, *applyevents.EventApplyConfiguration]{
			client: c.EventsV1().Events(ns),
			example: &eventsv1.Event{EventTime: now, Regarding: corev1.ObjectReference{Namespace: ns},
				ReportingController: "test", ReportingInstance: "a", Action: "Try", Reason: "Tried", Type: "Normal"},
			declare: func(name string) *applyevents.EventApplyConfiguration {
				return applyevents.Event(name, ns).WithAnnotations(declared).WithEventTime(now).WithType("Normal").
					WithRegarding(applycore.ObjectReference().WithNamespace(ns)).WithAction("Try").WithReason("Tried").
					WithReportingController("test").WithReportingInstance("a")
			},
			extract: applyevents.ExtractEvent,
		},
		typedKind[*schedulingv1.PriorityClass, *schedulingv1.PriorityClassList,
			*applyscheduling.PriorityClassApplyConfiguration]{
			client:  c.SchedulingV1().PriorityClasses(),
			example: &schedulingv1.PriorityClass{Value: 7},
			declare: func(name string) *applyscheduling.PriorityClassApplyConfiguration {
				return applyscheduling.PriorityClass(name).WithAnnotations(declared).WithValue(7)
			},
			extract: applyscheduling.ExtractPriorityClass,
		})
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
}

func applySelector() *applymeta.LabelSelectorApplyConfiguration {
	return applymeta.LabelSelector().WithMatchLabels(map[string]string{"app": "a"})
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}
}

func applyPodSpec() *applycore.PodSpecApplyConfiguration {
	return applycore.PodSpec().WithContainers(applycore.Container().WithName("c").WithImage("i"))
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}, Spec: podSpec()}
}

func applyTemplate() *applycore.PodTemplateSpecApplyConfiguration {
	return applycore.PodTemplateSpec().WithLabels(map[string]string{"app": "a"}).WithSpec(applyPodSpec())
}
