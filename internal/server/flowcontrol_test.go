package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/auth"
)

const flowPath = "/apis/flowcontrol.apiserver.k8s.io/v1/"

// user returns a client of the plane as a user without groups, from outside of the process. The plane authorizes only
// administrators, so the user may only read public paths and review their own rights.
func (c *overload) user(t *testing.T, name string) *testPlane {
	t.Helper()
	who := auth.NewUser(name)
	config := c.outside.As(func(ctx context.Context) context.Context { return auth.WithUser(ctx, who) }).RESTConfig()
	w := &testPlane{Plane: c.plane.Plane}
	w.connect(t, config)
	return w
}

// review asks the plane about the rights of the user.
func (w *testPlane) review(t *testing.T) response {
	t.Helper()
	r, err := w.try(t.Context(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		strings.NewReader(`{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`))
	if err != nil {
		t.Error(err)
	}
	return r
}

// narrow is a level with one seat.
func narrow(response flowcontrolv1.LimitResponse) *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "narrow"},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(1)),
				BorrowingLimitPercent: new(int32(0)), LimitResponse: response}},
	}
}

// schemaOf sends all requests of a user to a level.
func schemaOf(user, level string) *flowcontrolv1.FlowSchema {
	return &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: "of-" + user},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
			MatchingPrecedence:         500,
			DistinguisherMethod: &flowcontrolv1.FlowDistinguisherMethod{
				Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser,
					User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"},
					Resources: []string{"*"}, Namespaces: []string{"*"}, ClusterScope: true}},
			}},
		},
	}
}

// A level with one seat that rejects: the second request gets 429, others pass.
func TestFlowSchemaRejectsBeyondItsSeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		v1 := c.plane.clients.FlowcontrolV1()
		must(v1.PriorityLevelConfigurations().Create(t.Context(), narrow(flowcontrolv1.LimitResponse{
			Type: flowcontrolv1.LimitResponseTypeReject}), metav1.CreateOptions{}))(t)
		must(v1.FlowSchemas().Create(t.Context(), schemaOf("x", "narrow"), metav1.CreateOptions{}))(t)
		synctest.Wait()
		x := c.user(t, "x")
		slow := newTrickle()
		var first sync.WaitGroup
		first.Go(func() {
			r, err := x.try(t.Context(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", slow)
			if err != nil || r.code != http.StatusGatewayTimeout {
				t.Errorf("%d, %v, want 504", r.code, err)
			}
		})
		synctest.Wait()
		refused := x.review(t)
		refused.wantError(t, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "do not wait")
		if after := refused.header.Get("Retry-After"); after != "1" {
			t.Errorf("Retry-After %q, want 1", after)
		}
		began := time.Now()
		c.user(t, "y").review(t).want(t, http.StatusCreated)
		c.as(t, "x", "administrator").get(t, "/api/v1/namespaces").want(t, http.StatusOK)
		x.get(t, "/healthz").want(t, http.StatusOK)
		if took := time.Since(began); took != 0 {
			t.Errorf("others waited for %s", took)
		}
		first.Wait()
		x.review(t).want(t, http.StatusCreated)
		c.wantIdle(t)
	})
}

// A level that queues lets as many requests wait as its queues hold.
func TestFlowSchemaQueuesItsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		v1 := c.plane.clients.FlowcontrolV1()
		must(v1.PriorityLevelConfigurations().Create(t.Context(), narrow(flowcontrolv1.LimitResponse{
			Type:    flowcontrolv1.LimitResponseTypeQueue,
			Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 4, HandSize: 1, QueueLengthLimit: 3},
		}), metav1.CreateOptions{}))(t)
		must(v1.FlowSchemas().Create(t.Context(), schemaOf("x", "narrow"), metav1.CreateOptions{}))(t)
		synctest.Wait()
		x := c.user(t, "x")
		var all sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		all.Go(func() {
			x.try(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", newTrickle())
		})
		synctest.Wait()
		var mu sync.Mutex
		codes := map[int]int{}
		for range 5 {
			all.Go(func() {
				r := x.review(t)
				mu.Lock()
				defer mu.Unlock()
				codes[r.code]++
			})
		}
		time.Sleep(longest)
		stop()
		all.Wait()
		if codes[http.StatusCreated] != 3 || codes[http.StatusTooManyRequests] != 2 {
			t.Errorf("answers %v, want 3 times 201 and 2 times 429", codes)
		}
		c.wantIdle(t)
	})
}

// Answers name the schema and the level by which the request was classified.
func TestAnswersNameTheFlowSchema(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		v1 := c.plane.clients.FlowcontrolV1()
		for _, test := range []struct {
			client        *testPlane
			path          string
			schema, level string
		}{
			{c.plane, "/api/v1/namespaces/default", "exempt", "exempt"},
			{c.as(t, "admin", ""), "/api/v1/nodes", "exempt", "exempt"},
			{c.user(t, "x"), "/version", "global-default", "global-default"},
			{c.user(t, "x"), "/livez", "probes", "exempt"},
			{c.user(t, "system:kube-scheduler"), "/version", "kube-scheduler", "workload-high"},
			{c.user(t, "system:serviceaccount:kube-system:a"), "/version", "kube-system-service-accounts",
				"workload-high"},
		} {
			h := test.client.get(t, test.path).header
			s := must(v1.FlowSchemas().Get(t.Context(), test.schema, metav1.GetOptions{}))(t)
			l := must(v1.PriorityLevelConfigurations().Get(t.Context(), test.level, metav1.GetOptions{}))(t)
			if got := types.UID(h.Get("X-Kubernetes-PF-FlowSchema-UID")); got != s.UID || got == "" {
				t.Errorf("%s: schema %q, want that of %s, %q", test.path, got, s.Name, s.UID)
			}
			if got := types.UID(h.Get("X-Kubernetes-PF-PriorityLevel-UID")); got != l.UID || got == "" {
				t.Errorf("%s: level %q, want that of %s, %q", test.path, got, l.Name, l.UID)
			}
		}
	})
}

// The server restores mandatory objects, recreates deleted ones, and follows the annotation of suggested ones.
func TestFlowObjectsAreMaintained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		v1 := w.clients.FlowcontrolV1()
		get := func(name string) *flowcontrolv1.FlowSchema {
			t.Helper()
			synctest.Wait()
			return must(v1.FlowSchemas().Get(t.Context(), name, metav1.GetOptions{}))(t)
		}
		for _, name := range []string{"catch-all", "exempt", "probes"} {
			before := get(name)
			if err := v1.FlowSchemas().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if after := get(name); after.UID == before.UID || after.Spec.MatchingPrecedence !=
				before.Spec.MatchingPrecedence {
				t.Errorf("%s: %+v", name, after)
			}
		}
		if err := v1.PriorityLevelConfigurations().Delete(t.Context(), "catch-all", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		must(v1.PriorityLevelConfigurations().Get(t.Context(), "catch-all", metav1.GetOptions{}))(t)
		patch := func(name, body string) {
			t.Helper()
			must(v1.FlowSchemas().Patch(t.Context(), name, types.MergePatchType, []byte(body),
				metav1.PatchOptions{}))(t)
		}
		patch("global-default", `{"spec":{"matchingPrecedence":9000}}`)
		if s := get("global-default"); s.Spec.MatchingPrecedence != 9900 {
			t.Errorf("a suggested schema keeps the precedence %d", s.Spec.MatchingPrecedence)
		}
		patch("global-default", `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}},`+
			`"spec":{"matchingPrecedence":9000}}`)
		if s := get("global-default"); s.Spec.MatchingPrecedence != 9000 {
			t.Errorf("a suggested schema that a user maintains has the precedence %d", s.Spec.MatchingPrecedence)
		}
		patch("catch-all", `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}}}`)
		if s := get("catch-all"); s.Annotations[flowcontrolv1.AutoUpdateAnnotationKey] != "true" {
			t.Errorf("a mandatory schema is annotated %v", s.Annotations)
		}
		old := schemaOf("gone", "exempt")
		old.Annotations = map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}
		must(v1.FlowSchemas().Create(t.Context(), old, metav1.CreateOptions{}))(t)
		synctest.Wait()
		if _, err := v1.FlowSchemas().Get(t.Context(), old.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the schema of an earlier release: %v", err)
		}
	})
}

// The condition Dangling says whether a schema's level exists.
func TestFlowSchemaDangles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		v1 := w.clients.FlowcontrolV1()
		want := func(status flowcontrolv1.ConditionStatus, reason, message string) {
			t.Helper()
			synctest.Wait()
			s := must(v1.FlowSchemas().Get(t.Context(), "of-x", metav1.GetOptions{}))(t)
			message = `This FlowSchema references the PriorityLevelConfiguration object named "narrow" ` + message
			if len(s.Status.Conditions) != 1 || s.Status.Conditions[0].Status != status ||
				s.Status.Conditions[0].Reason != reason || s.Status.Conditions[0].Message != message ||
				s.Generation != 1 {
				t.Errorf("%+v, want %s, %s", s, status, reason)
			}
			if len(s.ManagedFields) != 2 || s.ManagedFields[1].Subresource != "status" {
				t.Errorf("managed fields %+v", s.ManagedFields)
			}
		}
		must(v1.FlowSchemas().Create(t.Context(), schemaOf("x", "narrow"), metav1.CreateOptions{}))(t)
		want("True", "NotFound", "but there is no such object")
		l := narrow(flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject})
		must(v1.PriorityLevelConfigurations().Create(t.Context(), l, metav1.CreateOptions{}))(t)
		want("False", "Found", "and it exists")
		if err := v1.PriorityLevelConfigurations().Delete(t.Context(), l.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want("True", "NotFound", "but there is no such object")
	})
}

// The server restores a condition that another writer removes, but does not race with that writer.
func TestFlowSchemaConditionIsWrittenSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		v1 := w.clients.FlowcontrolV1()
		must(v1.FlowSchemas().Create(t.Context(), schemaOf("x", "exempt"), metav1.CreateOptions{}))(t)
		for _, test := range []struct {
			after      time.Duration
			removes    bool
			conditions int
		}{{0, false, 1}, {2 * time.Minute, true, 1}, {0, true, 0}, {0, true, 0}, {2 * time.Minute, false, 1}} {
			time.Sleep(test.after)
			if test.removes {
				synctest.Wait()
				must(v1.FlowSchemas().Patch(t.Context(), "of-x", types.MergePatchType,
					[]byte(`{"status":{"conditions":[]}}`), metav1.PatchOptions{},
					"status"))(t)
			}
			synctest.Wait()
			s := must(v1.FlowSchemas().Get(t.Context(), "of-x", metav1.GetOptions{}))(t)
			if len(s.Status.Conditions) != test.conditions {
				t.Errorf("%+v: conditions %+v", test, s.Status.Conditions)
			}
		}
	})
}

// kubectl prints the columns that Kubernetes has.
func TestFlowTables(t *testing.T) {
	t.Parallel()
	w := start(t)
	for path, want := range map[string]string{
		"flowschemas": "Name PriorityLevel MatchingPrecedence DistinguisherMethod Age MissingPL\n" +
			"exempt exempt 1 <none> AGE False\nprobes exempt 2 <none> AGE False\n",
		"prioritylevelconfigurations": "Name Type NominalConcurrencyShares Queues HandSize QueueLengthLimit Age\n" +
			"catch-all Limited 5 <none> <none> <none> AGE\nexempt Exempt <none> <none> <none> <none> AGE\n",
	} {
		var table metav1.Table
		r := w.get(t, flowPath+path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		r.want(t, http.StatusOK).into(t, &table)
		var names []string
		for _, column := range table.ColumnDefinitions {
			names = append(names, column.Name)
		}
		got := strings.Join(names, " ") + "\n"
		for _, row := range table.Rows[:2] {
			cells := make([]string, len(row.Cells))
			for i, cell := range row.Cells {
				if cells[i] = fmt.Sprint(cell); names[i] == "Age" {
					cells[i] = "AGE"
				}
			}
			got += strings.Join(cells, " ") + "\n"
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
	}
}

// A start without creating anything leaves the objects as they are, also after a change.
func TestFlowObjectsOfAFork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		fork := must(w.Fork(t.Context()))(t)
		defer fork.Close()
		synctest.Wait()
		f := &testPlane{Plane: fork}
		f.connect(t, fork.RESTConfig())
		before := must(w.clients.FlowcontrolV1().FlowSchemas().List(t.Context(), metav1.ListOptions{}))(t)
		after := must(f.clients.FlowcontrolV1().FlowSchemas().List(t.Context(), metav1.ListOptions{}))(t)
		if len(before.Items) != 11 || !equality.Semantic.DeepEqual(before.Items, after.Items) {
			t.Errorf("%d schemas, and %d in the fork", len(before.Items), len(after.Items))
		}
		v1 := f.clients.FlowcontrolV1()
		old := schemaOf("gone", "exempt")
		old.Annotations = map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}
		must(v1.FlowSchemas().Create(t.Context(), old, metav1.CreateOptions{}))(t)
		for _, name := range []string{"catch-all", "probes"} {
			if err := v1.FlowSchemas().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, err := v1.FlowSchemas().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("%s was recreated: %v", name, err)
			}
		}
		kept := must(v1.FlowSchemas().Get(t.Context(), old.Name, metav1.GetOptions{}))(t)
		if len(kept.Status.Conditions) != 1 || kept.Status.Conditions[0].Status != flowcontrolv1.ConditionFalse {
			t.Errorf("conditions %+v", kept.Status.Conditions)
		}
	})
}
