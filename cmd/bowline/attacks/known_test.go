package attacks

// exceeds lists the rows that are known to exceed their limits, by area and name, with the cause. They run with -known
// only, and fail then. Each is a defect: its cost is bounded by the size of a request, but not to a second.
var exceeds = map[string]map[string]string{
	"strategic patches": {
		"3,000 containers with a variable": "1.3 s: the library of Kubernetes merges lists item by item",
		"containers of 1 MB merged":        "2.0 s: the same",
		"2,000 owners on as many":          "2.8 s: the same",
	},
	"applies": {
		"an associative list of 5,000, twice": "6.7 s: the same as for sets",
		"a set of 49,000 texts":               "3.6 s: structured-merge-diff inserts each item into a sorted list",
		"a set of 20,000 texts, twice":        "3.6 s: the same",
		"an associative list of 30,000":       "3.0 s: the same",
	},
	"slow clients": {
		"a body of a byte a second on each path": "3 of 30 answers did not come within 65 s",
	},
	"protobuf": {
		"a pod of 99,000 containers": "1.6 s: each container is defaulted and validated",
		"99,000 owners":              "1.2 s: each owner is validated",
	},
	"webhooks": {
		"a patch with 5 million values":   "3.2 s and 310 MiB: answers of webhooks are bounded by 16 MiB only",
		"a refusal with 5 million causes": "2.6 s and 613 MiB: the same",
	},
	"conversions": {
		"a byte every 100 ms":                "?timeout= of a request does not end the call of a conversion webhook",
		"silence":                            "the same",
		"an endless answer":                  "287 MiB: answers of conversion webhooks are bounded by 64 MiB only",
		"a compressed answer without an end": "315 MiB: the same",
		"a million objects":                  "3.3 s and 435 MiB: the same",
		"an object of 60 MB":                 "3.6 s and 365 MiB: the same; the object is served",
		"an object of 5 million values":      "3.5 s and 476 MiB: the same",
	},
}
