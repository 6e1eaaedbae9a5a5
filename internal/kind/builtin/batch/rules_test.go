package batch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is a validation rule: YAML that is merged into a valid object, and the expected errors. If was is set,
// the write is an update of that. source is a function in Kubernetes' pkg/apis/batch/validation.
type rule struct{ rule, source, was, is, want string }

const (
	validJob  = `{metadata: {name: j, uid: u}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`
	validCron = `{metadata: {name: c}, spec: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`
)

func jobs() kind.Kind     { return jobKind(object.NewCache(1 << 20)) }
func cronJobs() kind.Kind { return cronJobKind(object.NewCache(1 << 20)) }

// created returns the object that a create of valid with these overlays stores.
func created(t *testing.T, k kind.Kind, valid string, overlays ...string) kind.Object {
	t.Helper()
	obj := k.New()
	for _, o := range append([]string{valid}, overlays...) {
		if err := yaml.UnmarshalStrict([]byte(o), obj); err != nil {
			t.Fatalf("%s: %v", o, err)
		}
	}
	form := object.Form{APIVersion: "batch/v1", Format: object.JSON}
	data, err := k.Encode(form, obj)
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err = k.DecodeRequest(form, data, true)
	if err != nil {
		t.Fatal(err)
	}
	status := obj.DeepCopyObject().(kind.Object)
	k.Prepare(obj, nil, "")
	if j, ok := obj.(*batchv1.Job); ok {
		j.Status = status.(*batchv1.Job).Status
	}
	return obj
}

func text(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func checkRules(t *testing.T, k kind.Kind, valid, sub string, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.was != "" || sub != "" {
				old = created(t, k, valid, r.was)
			}
			if got := text(k.Validate(t.Context(), created(t, k, valid, r.was, r.is), old, sub)); got != r.want {
				t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
			}
		})
	}
}

const indexedJob = `completionMode: Indexed, completions: 3, backoffLimitPerIndex: 1`

func TestJobRules(t *testing.T) {
	t.Parallel()
	checkRules(t, jobs(), validJob, "", []rule{
		{"the least that it needs", "", ``, `{}`, ``},
		{"counts are not negative", "validateJobSpec", ``,
			`spec: {parallelism: -1, completions: -1, activeDeadlineSeconds: -1, backoffLimit: -1, ttlSecondsAfterFinished: -1}`,
			`[spec.parallelism: Invalid value: -1: must be greater than or equal to 0, spec.completions: Invalid value: -1: must be greater than or equal to 0, ` +
				`spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0, spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0, ` +
				`spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0]`},
		{"pods end", "validateJobSpec", ``, `spec: {template: {spec: {restartPolicy: Always}}}`,
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"a selector is the server's", "validateGeneratedSelector", ``, `spec: {selector: {matchLabels: {a: b}}}`,
			"[spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: `selector` not auto-generated, " +
				"spec.template.metadata.labels: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"u\",\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u\",\"job-name\":\"j\"}: `selector` does not match template `labels`]"},
		{"a label of the pods is the server's", "validateGeneratedSelector", ``,
			`spec: {template: {metadata: {labels: {job-name: k}}}}`,
			`spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"k"}: must be 'j'`},
		{"who chooses the selector needs one", "ValidateJobSpec", ``, `spec: {manualSelector: true}`,
			"[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`]"},
		{"who chooses the selector chooses the labels", "ValidateJobSpec", ``,
			`spec: {manualSelector: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}`,
			``},
		{"an index needs an end", "validateJobSpec", ``, `spec: {completionMode: Indexed, parallelism: 2}`,
			`spec.completions: Required value: when completion mode is Indexed`},
		{"failures by index need indexes", "validateJobSpec", ``,
			`spec: {backoffLimitPerIndex: 1, maxFailedIndexes: 2}`,
			`[spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode, spec.maxFailedIndexes: Invalid value: 2: requires indexed completion mode]`},
		{"not more indexes fail than there are", "validateJobSpec", ``,
			`spec: {` + indexedJob + `, maxFailedIndexes: 4}`,
			`spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions`},
		{"many indexes say how many may fail", "validateJobSpec", ``,
			`spec: {completionMode: Indexed, completions: 200000, parallelism: 20000, backoffLimitPerIndex: 1}`,
			`[spec.maxFailedIndexes: Required value: must be specified when completions is above 100000, spec.parallelism: Invalid value: 20000: ` +
				`must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index]`},
		{"a mode is known", "validateJobSpec", ``, `spec: {completionMode: Sorted}`,
			`spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"`},
		{"the last index has a hostname", "ValidateJob", ``, `{metadata: {name: a.b}, spec: {` + indexedJob + `}}`,
			`metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-2`},
		{"a manager has a domain", "validateJobSpec", ``, `spec: {managedBy: me}`,
			`spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")`},
		{"a replacement is known", "validatePodReplacementPolicy", ``, `spec: {podReplacementPolicy: Soon}`,
			`spec.podReplacementPolicy: Unsupported value: "Soon": supported values: "Failed", "TerminatingOrFailed"`},
		{"what Kubernetes has behind a gate", "", ``, `spec: {scheduling: {}}`, `spec.scheduling: Forbidden`},
	})
}

func TestJobPolicyRules(t *testing.T) {
	t.Parallel()
	checkRules(t, jobs(), validJob, "", []rule{
		{"a right failure policy", "", ``,
			`spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1, 2]}}, {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}}`, ``},
		{"a rule has an action, and something to act on", "validatePodFailurePolicyRule", ``,
			`spec: {podFailurePolicy: {rules: [{}]}}`,
			`[spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"], ` +
				`spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required]`},
		{"an index fails where it is counted", "validatePodFailurePolicyRule", ``,
			`spec: {podFailurePolicy: {rules: [{action: FailIndex, onPodConditions: [{type: a}]}]}}`,
			`spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`},
		{"exit codes are failures, in order, and each once", "validatePodFailurePolicyRuleOnExitCodes", ``,
			`spec: {podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, containerName: d, values: [2, 0, 2]}}]}}`,
			`[spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "d": must be one of the container or initContainer names in the pod template, ` +
				`spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator, ` +
				`spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2, spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered]`},
		{"a pod that restarts has no exit code", "validateJobSpec", ``,
			`spec: {podFailurePolicy: {rules: []}, template: {spec: {restartPolicy: OnFailure}}}`,
			`spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`},
		{"a failed pod is replaced when it has failed", "validatePodReplacementPolicy", ``,
			`spec: {podFailurePolicy: {rules: []}, podReplacementPolicy: TerminatingOrFailed}`,
			`spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`},
		{"success before the end needs indexes", "validateJobSpec", ``,
			`spec: {successPolicy: {rules: [{succeededCount: 1}]}}`,
			`spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode`},
		{"a right success policy", "", ``,
			`spec: {` + indexedJob + `, successPolicy: {rules: [{succeededIndexes: "0,2", succeededCount: 2}]}}`, ``},
		{"indexes are below the completions", "parseIndexInterval", ``,
			`spec: {` + indexedJob + `, successPolicy: {rules: [{succeededIndexes: "0-3"}]}}`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-3": error parsing succeededIndexes: too large index: "3"`},
		{"indexes are in order", "validateIndexesFormat", ``,
			`spec: {` + indexedJob + `, successPolicy: {rules: [{succeededIndexes: "1,0"}]}}`,
			`spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1,0": error parsing succeededIndexes: non-increasing order, previous: 1, current: 0`},
		{"not more succeed than are named", "validateSuccessPolicyRule", ``,
			`spec: {` + indexedJob + `, successPolicy: {rules: [{succeededIndexes: "1", succeededCount: 2}]}}`,
			`spec.successPolicy.rules[0].succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)`},
		{"a rule says something", "validateSuccessPolicyRule", ``,
			`spec: {` + indexedJob + `, successPolicy: {rules: [{}]}}`,
			`spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified`},
	})
}

func TestJobUpdateRules(t *testing.T) {
	t.Parallel()
	idle := `spec: {suspend: true}`
	checkRules(t, jobs(), validJob, "", []rule{
		{"more may run at once, and it may be suspended", "", `{}`,
			`spec: {completions: 1, parallelism: 5, suspend: true, activeDeadlineSeconds: 5}`, ``},
		{"completions stay", "validateCompletions", `{}`, `spec: {completions: 2}`,
			`spec.completions: Invalid value: 2: field is immutable`},
		{"completions of an indexed job go with its parallelism", "validateCompletions", `spec: {` + indexedJob + `}`,
			`spec: {completions: 4, parallelism: 4}`, ``},
		{"completions of an indexed job do not go alone", "validateCompletions", `spec: {` + indexedJob + `}`,
			`spec: {completions: 4}`,
			`spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism`},
		{"a mode stays", "ValidateJobSpecUpdate", `spec: {completions: 3}`, `spec: {completionMode: Indexed}`,
			`spec.completionMode: Invalid value: "Indexed": field is immutable`},
		{"a failure policy stays", "ValidateJobSpecUpdate", `{}`,
			`spec: {podReplacementPolicy: Failed, podFailurePolicy: {rules: [{action: Count, onPodConditions: [{type: a, status: "True"}]}]}}`,
			`spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Count","OnExitCodes":null,"OnPodConditions":[{"Type":"a","Status":"True"}]}]}: field is immutable`},
		{"pods that wait may go elsewhere and take more", "validatePodTemplateUpdate", idle,
			`spec: {template: {spec: {nodeSelector: {a: b}, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}`, ``},
		{"pods that have started stay", "validatePodTemplateUpdate",
			`{spec: {suspend: true}, status: {startTime: "2026-01-01T00:00:00Z", active: 1}}`, `spec: {suspend: false}`,
			``},
	})
	k := jobs()
	for _, r := range []struct{ was, is, want string }{
		{`{}`, `spec: {template: {spec: {nodeSelector: {a: b}}}}`, `spec.template: Invalid value: {"labels":{`},
		{idle, `spec: {template: {spec: {hostname: a}}}`, `spec.template.spec: Invalid value: {"Volumes":null,`},
	} {
		got := text(k.Validate(t.Context(), created(t, k, validJob, r.was, r.is), created(t, k, validJob, r.was), ""))
		if !strings.HasPrefix(got, r.want) || !strings.HasSuffix(got, ": field is immutable") {
			t.Errorf("%s: %s, want %s", r.is, got, r.want)
		}
	}
}

func TestJobStatusRules(t *testing.T) {
	t.Parallel()
	done := `{startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:01:00Z", succeeded: 1, ` +
		`conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`
	checkRules(t, jobs(), validJob, "status", []rule{
		{"a job that ends", "", `{}`, `status: ` + done, ``},
		{"an end has a reason", "validateJobStatus", `{}`,
			`status: {startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:01:00Z", conditions: [{type: Complete, status: "True"}]}`,
			`status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition`},
		{"a failure has a target", "validateJobStatus", `{}`,
			`status: {startTime: "2026-01-01T00:00:00Z", conditions: [{type: Failed, status: "True"}]}`,
			`status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition`},
		{"an end has times", "validateJobStatus", `{}`,
			`status: {conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`,
			`[status.completionTime: Required value: completionTime is required for Complete jobs, status.startTime: Required value: startTime is required for finished job]`},
		{"a job that has ended runs nothing", "validateJobStatus", `{}`,
			`status: {active: 1, terminating: 1, uncountedTerminatedPods: {succeeded: [a]}, startTime: "2026-01-01T00:00:00Z", ` +
				`conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]}`,
			`[status.active: Invalid value: 1: active>0 is invalid for finished job, status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: ` +
				`must be empty for finished job, status.terminating: Invalid value: 1: terminating>0 is invalid for finished job]`},
		{"an end is one", "ValidateJobStatusUpdate", `status: ` + done,
			`status: {completionTime: null, conditions: []}`,
			`[status.conditions: Invalid value: cannot disable the terminal Complete=True condition, status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition]`},
		{"counts go up", "ValidateJobStatusUpdate", `status: {succeeded: 2, failed: 2}`,
			`status: {succeeded: 1, failed: 1}`,
			`[status.failed: Invalid value: 1: cannot decrease the failed counter, status.succeeded: Invalid value: 1: cannot decrease the succeeded counter]`},
		{"a beginning is one", "ValidateJobStatusUpdate", `status: {startTime: "2026-01-01T00:00:00Z"}`,
			`status: {startTime: "2026-01-02T00:00:00Z"}`,
			`status.startTime: Invalid value: "2026-01-02T00:00:00Z": field is immutable for unsuspended job once set`},
		{"a pod is counted once", "validateJobStatus", `{}`,
			`status: {uncountedTerminatedPods: {succeeded: [a], failed: [a, ""]}}`,
			`[status.uncountedTerminatedPods.failed[0]: Duplicate value: "a", status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty]`},
		{"who is ready is there", "validateJobStatus", `{}`, `status: {active: 1, ready: 2}`,
			`status.ready: Invalid value: 2: cannot set more ready pods than active`},
		{"an index is done or failed", "validateFailedIndexesNotOverlapCompleted", `spec: {` + indexedJob + `}`,
			`status: {completedIndexes: "0-1", failedIndexes: "1,2"}`,
			`status.failedIndexes: Invalid value: "1,2": failedIndexes and completedIndexes overlap at index: 1`},
		{"indexes are an indexed job's", "validateJobStatus", `spec: {completions: 3}`,
			`status: {completedIndexes: "0"}`,
			`status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode`},
	})
}

func TestCronJobRules(t *testing.T) {
	t.Parallel()
	checkRules(t, cronJobs(), validCron, "", []rule{
		{"the least that it needs", "", ``, `{}`, ``},
		{"a schedule is there", "validateCronJobSpec", ``, `spec: {schedule: ""}`, `spec.schedule: Required value`},
		{"a schedule is one", "validateScheduleFormat", ``, `spec: {schedule: "61 * * * *"}`,
			`spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61`},
		{"a schedule has five fields", "validateScheduleFormat", ``, `spec: {schedule: "* * *"}`,
			`spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]`},
		{"a schedule may be a name", "validateScheduleFormat", ``, `spec: {schedule: "@hourly"}`, ``},
		{"a zone has its own field", "validateScheduleFormat", ``, `spec: {schedule: "TZ=Europe/Berlin 0 * * * *"}`,
			`spec.schedule: Invalid value: "TZ=Europe/Berlin 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`},
		{"an old schedule keeps its zone", "validateScheduleFormat", `spec: {schedule: "TZ=Europe/Berlin 0 * * * *"}`,
			`spec: {suspend: true}`, ``},
		{"a schedule has one zone", "validateScheduleFormat", `spec: {schedule: "TZ=Europe/Berlin 0 * * * *"}`,
			`spec: {timeZone: Etc/UTC}`,
			`spec.schedule: Invalid value: "TZ=Europe/Berlin 0 * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule`},
		{"what the library panics at", "ParseCronScheduleWithPanicRecovery", `spec: {schedule: "TZ=0"}`, `{}`,
			`spec.schedule: Invalid value: "TZ=0": invalid schedule format: runtime error: slice bounds out of range [:-1]`},
		{"a zone is known", "validateTimeZone", ``, `spec: {timeZone: Mars/Olympus}`,
			`spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus`},
		{"a zone is no path", "validateTimeZone", ``, `spec: {timeZone: ../zone}`,
			`spec.timeZone: Invalid value: "../zone": unknown time zone ../zone`},
		{"a zone is one zone", "validateTimeZone", ``, `spec: {timeZone: Local}`,
			`spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones`},
		{"a zone that was known stays", "ValidateCronJobUpdate", `spec: {timeZone: Mars/Olympus}`,
			`spec: {suspend: true}`, ``},
		{"a policy is known", "validateConcurrencyPolicy", ``, `spec: {concurrencyPolicy: Queue}`,
			`spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"`},
		{"the selector of jobs is theirs", "ValidateJobTemplateSpec", ``,
			`spec: {jobTemplate: {spec: {manualSelector: true, selector: {matchLabels: {a: b}}}}}`,
			"[spec.jobTemplate.spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` will be auto-generated, " +
				"spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\"]"},
		{"a name leaves room", "ValidateCronJobCreate", ``, `metadata: {name: ` + strings.Repeat("a", 53) + `}`,
			`metadata.name: Invalid value: "` + strings.Repeat("a", 53) + `": must be no more than 52 characters`},
		{"counts are not negative", "validateCronJobSpec", ``,
			`spec: {startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1}`,
			`[spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0, spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater ` +
				`than or equal to 0, spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0]`},
	})
}

func TestBatchWarnings(t *testing.T) {
	t.Parallel()
	long := "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
	many := created(t, jobs(), validJob,
		`{metadata: {name: a.b}, spec: {completionMode: Indexed, completions: 100001, parallelism: 10001}}`)
	want := []string{long,
		"spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, " +
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail"}
	if got := jobs().Warnings(many, nil, ""); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("warnings of a job %q, want %q", got, want)
	}
	if got := jobs().Warnings(many, many, ""); len(got) > 0 {
		t.Errorf("an update that changes nothing warns: %q", got)
	}
	c := created(t, cronJobs(), validCron, `{metadata: {name: a.b}, spec: {schedule: "TZ=UTC 0 * * * *"}}`)
	if got := cronJobs().Warnings(c, nil, ""); fmt.Sprint(got) != fmt.Sprint([]string{long}) {
		t.Errorf("warnings of a cronjob: %q", got)
	}
	if got := cronJobs().Warnings(c, c, ""); len(got) != 1 || !strings.Contains(got[0], "use timeZone instead") {
		t.Errorf("warnings of an update that leaves an old schedule: %q", got)
	}
}

func TestJobCells(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	k := jobs()
	for _, r := range []struct{ is, state, completions, duration string }{
		{`{}`, "Running", "0/1", ""},
		{`{spec: {parallelism: 2}, status: {startTime: "2026-01-01T00:00:00Z", succeeded: 1}}`, "Running", "1/1",
			"10m"},
		{`status: {startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:01:30Z", conditions: [{type: Complete, status: "True"}]}`, "Complete", "0/1", "90s"},
		{`status: {conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]}`, "Failed",
			"0/1", ""},
		{`status: {conditions: [{type: Suspended, status: "True"}]}`, "Suspended", "0/1", ""},
		{`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: Suspended, status: "True"}]}}`, "Terminating", "0/1", ""},
	} {
		j := created(t, k, validJob, r.is).(*batchv1.Job)
		row, err := k.Row(j, "batch/v1", now)
		if err != nil || row[1] != r.state ||
			row[2] != map[bool]string{true: "1/1 of 2", false: r.completions}[j.Spec.Completions == nil] ||
			row[3] != r.duration {
			t.Errorf("%s: row %v (%v)", r.is, row, err)
		}
	}
	c := created(t, cronJobs(), validCron,
		`{spec: {timeZone: Etc/UTC, suspend: true}, status: {lastScheduleTime: "2026-01-01T00:00:00Z", active: [{name: a}]}}`).(*batchv1.CronJob)
	c.Status = batchv1.CronJobStatus{LastScheduleTime: &metav1.Time{Time: now.Add(-time.Minute)}}
	row, err := cronJobs().Row(c, "batch/v1", now)
	if err != nil || fmt.Sprint(row[1:6]) != "[0 * * * * Etc/UTC True 0 60s]" {
		t.Errorf("row of a cronjob: %v (%v)", row, err)
	}
}

func TestJobsAreSelectableBySuccesses(t *testing.T) {
	t.Parallel()
	if got := jobs().Fields(created(t, jobs(), validJob, `status: {succeeded: 3}`))["status.successful"]; got != "3" {
		t.Errorf("status.successful: %q, want 3", got)
	}
}
