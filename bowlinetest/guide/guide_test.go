package guide_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
)

func TestServerRejectsBadNames(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	maps := kubernetes.NewForConfigOrDie(p.RESTConfig()).CoreV1().ConfigMaps("default")
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "No Name"}}
	if _, err := maps.Create(t.Context(), bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("got %v, want a validation error", err)
	}
}

func TestGreetingNeedsAName(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.CRDs("crd"), bowlinetest.Types(addToScheme, nil))
	greetings := bowlinetest.Client[*Greeting](t, p)
	nobody := &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nobody"}}
	if _, err := greetings.Create(t.Context(), nobody, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("got %v, want a validation error", err)
	}
}

func TestGreetingIsWritten(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addToScheme, nil), bowlinetest.Controllers(run))
	p.Apply(t, `
apiVersion: example.com/v1
kind: Greeting
metadata: {name: hello}
spec: {name: World}
`)
	bowlinetest.Wait(t, p, "default", "hello", func(g *Greeting) bool { return g.Status.Words == "Hello, World!" })
}

func TestGreetingsInForks(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.CRDs("crd"), bowlinetest.Types(addToScheme, nil),
		bowlinetest.Controllers(run),
		bowlinetest.Objects(&Greeting{ObjectMeta: metav1.ObjectMeta{Name: "hello"}, Spec: GreetingSpec{Name: "World"}}))
	for _, name := range []string{"Ann", "Ben", "Cem"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fork := p.Fork(t)
			fork.Apply(t, "{apiVersion: example.com/v1, kind: Greeting, metadata: {name: hello}, spec: {name: "+name+
				"}}")
			bowlinetest.Wait(t, fork, "default", "hello", func(g *Greeting) bool {
				return g.Status.Words == "Hello, "+name+"!"
			})
		})
	}
}

func TestGreetingExpires(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t,
			"{apiVersion: example.com/v1, kind: Greeting, metadata: {name: short}, spec: {name: World, for: 48h}}")
		time.Sleep(47 * time.Hour)
		synctest.Wait()
		greetings := bowlinetest.Client[*Greeting](t, p)
		if _, err := greetings.Get(t.Context(), "default", "short"); err != nil {
			t.Errorf("an hour before its end: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, err := greetings.Get(t.Context(), "default", "short"); !apierrors.IsNotFound(err) {
			t.Errorf("after its end: %v", err)
		}
	}, bowlinetest.Types(addToScheme, nil), bowlinetest.Controllers(run))
}

func TestGreetingRecordsEvent(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, "{apiVersion: example.com/v1, kind: Greeting, metadata: {name: hello}, spec: {name: World}}")
		time.Sleep(time.Second)
		synctest.Wait()
		events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default",
			metav1.ListOptions{FieldSelector: "involvedObject.kind=Greeting,involvedObject.name=hello"})
		if err != nil || len(events.Items) != 1 || events.Items[0].Message != "Hello, World!" {
			t.Errorf("the events are %+v, %v", events, err)
		}
	}, bowlinetest.Types(addToScheme, nil), bowlinetest.Manage(add))
}

func TestUsersMayDoWhatRolesGrant(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [example.com], resources: [greetings], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}
- {kind: ServiceAccount, namespace: default, name: dashboard}
`)
		for _, config := range []*rest.Config{p.As("jane", "devs"), p.AsServiceAccount("default", "dashboard")} {
			c, err := client.New(config, client.Types(addToScheme))
			if err != nil {
				t.Fatal(err)
			}
			greetings := client.For[*Greeting](c)
			if _, err := greetings.List(t.Context(), "default", metav1.ListOptions{}); err != nil {
				t.Errorf("reading: %v", err)
			}
			hello := &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
			if _, err := greetings.Create(t.Context(), hello, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("writing: got %v, want Forbidden", err)
			}
		}
	}, bowlinetest.Types(addToScheme, nil))
}

func TestUsersNeedPermission(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addToScheme, nil), bowlinetest.Socket())
	administrator, jane := p.SocketConfig(t), p.SocketConfig(t, "jane", "devs")
	for config, permitted := range map[*rest.Config]bool{administrator: true, jane: false} {
		_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").List(context.Background(),
			metav1.ListOptions{})
		if apierrors.IsForbidden(err) == permitted {
			t.Errorf("permitted is %t, and the list returned %v", permitted, err)
		}
	}
}

func TestGreetingTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", bowlinetest.Types(addToScheme, nil), bowlinetest.Manage(add))
}

func TestGreetingsUnderFaults(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options:   []bowlinetest.Option{bowlinetest.Types(addToScheme, nil)},
		Processes: []bowlinetest.Process{{Name: "greeter", Run: run}}, // as main runs it
		Act: func(ctx context.Context, config *rest.Config) error { // what users do, with any client
			c, err := client.New(config, client.Types(addToScheme))
			if err != nil {
				return err
			}
			greeting := &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"},
				Spec: GreetingSpec{Name: "Ann"}}
			if _, err := client.For[*Greeting](c).Create(ctx, greeting, metav1.CreateOptions{}); err != nil {
				return err
			}
			time.Sleep(time.Minute) // of virtual time
			patch := []byte(`{"spec": {"name": "Ben"}}`)
			_, err = client.For[*Greeting](c).Patch(ctx, "default", "hello", "", types.MergePatchType, patch,
				metav1.PatchOptions{})
			return err
		},
	})
}
