package attacks

// exceeds lists the rows that are known to fail, by area and name, with the reason. They run with -known only.
var exceeds = map[string]map[string]string{}
