package podgc

// AddWithLimit adds a controller that retains up to limit ended pods.
var AddWithLimit = addWithLimit
