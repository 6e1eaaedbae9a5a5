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
}
