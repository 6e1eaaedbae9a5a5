package attacks

import "time"

// farTimes are near the limits of time.Time, of nanoseconds in an int64 and of RFC 3339, and one is before the Unix
// epoch. A clock that jumps can leave them in objects.
var farTimes = []string{"0001-01-01T00:00:01Z", "1677-09-21T00:12:43Z", "1969-12-31T23:59:59Z", "2262-04-11T23:47:17Z",
	"9999-12-31T23:59:59Z"}

// clocks returns attacks that write farTimes into the time fields from which controllers count.
func clocks() (rows []row) {
	for _, at := range farTimes {
		for _, r := range clockRows(at) {
			r.name += " at " + at
			r.codes = []int{200, 201, 400, 422}
			rows = append(rows, r)
		}
	}
	const long = "9223372036854775807"
	return append(rows, row{name: "a grace period of 292 billion years", codes: []int{200, 202, 400, 422},
		setup: post(pods, podNamed("p")),
		send:  []request{{method: "DELETE", path: pods + "/p", body: `{"gracePeriodSeconds":` + long + `}`}}})
}

// clockRows returns the rows for one time.
func clockRows(at string) []row {
	const (
		jobs   = "/apis/batch/v1/namespaces/default/jobs"
		crons  = "/apis/batch/v1/namespaces/default/cronjobs"
		leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
		nodes  = "/api/v1/nodes"
		events = "/api/v1/namespaces/default/events"
		pdbs   = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
		pod    = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
		job    = `{"metadata":{"name":"j"},"spec":{"suspend":true,"activeDeadlineSeconds":2147483647,"ttlSecondsAfterFinished":2147483647,` + pod + `}}`
	)
	micro := `"` + at[:len(at)-1] + `.000000Z"`
	when := `"` + at + `"`
	status := func(path, body string) []request { return patch(path+"/status", mergeType, `{"status":`+body+`}`) }
	return []row{
		{name: "Lease spec.renewTime", setup: post(nodes, `{"metadata":{"name":"n"}}`), send: post(leases,
			`{"metadata":{"name":"n"},"spec":{"holderIdentity":"n","leaseDurationSeconds":2147483647,"renewTime":`+micro+
				`,"acquireTime":`+micro+`}}`)},
		{name: "Node lastHeartbeatTime", setup: post(nodes, `{"metadata":{"name":"n"}}`), send: status(nodes+"/n",
			`{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":`+when+`,"lastTransitionTime":`+when+`}]}`)},
		{name: "CronJob status.lastScheduleTime", setup: post(crons, `{"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","suspend":false,`+
			`"startingDeadlineSeconds":9223372036854775807,"jobTemplate":{"spec":{`+pod+`}}}}`),
			send: status(crons+"/c", `{"lastScheduleTime":`+when+`,"lastSuccessfulTime":`+when+`}`)},
		{name: "Job status.startTime", setup: post(jobs, job), send: status(jobs+"/j", `{"startTime":`+when+`}`)},
		{name: "Job status.completionTime", setup: post(jobs, job), send: status(jobs+"/j",
			`{"startTime":`+when+`,"completionTime":`+when+`,"succeeded":1,"conditions":[{"type":"SuccessCriteriaMet",`+
				`"status":"True","lastTransitionTime":`+when+`},{"type":"Complete","status":"True","lastTransitionTime":`+when+`}]}`)},
		{name: "Pod status.startTime", setup: post(pods, podNamed("p")), send: status(pods+"/p",
			`{"phase":"Running","startTime":`+when+`,"conditions":[{"type":"Ready","status":"True","lastTransitionTime":`+when+`}]}`)},
		{name: "Event lastTimestamp", send: post(events, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"reason":"r",`+
			`"type":"Normal","firstTimestamp":`+when+`,"lastTimestamp":`+when+`}`)},
		{name: "Deployment lastUpdateTime", setup: post(deployments, deployment), send: status(deployments+"/d",
			`{"conditions":[{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated","lastUpdateTime":`+when+
				`,"lastTransitionTime":`+when+`}]}`), within: 2 * time.Second},
		{name: "PodDisruptionBudget status.disruptedPods", setup: post(pdbs, `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{}}}`),
			send: status(pdbs+"/b", `{"observedGeneration":1,"disruptedPods":{"p":`+when+`},"disruptionsAllowed":0,`+
				`"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`)},
	}
}

// podNamed returns a pod that stays unscheduled.
func podNamed(name string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"i"}]}}`
}
