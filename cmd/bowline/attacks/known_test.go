package attacks

// exceeds lists the rows that are known to fail, by area and name, with the reason. They run with -known only.
var exceeds = map[string]map[string]string{
	"conversions": {
		"a byte every 100 ms": "?timeout= of a request does not end the call of a conversion webhook, which takes 30 s at most",
		"silence":             "the same",
	},
}
