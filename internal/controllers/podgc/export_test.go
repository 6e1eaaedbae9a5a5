package podgc

// AddWithLimit adds a controller that retains up to most ended pods.
var AddWithLimit = addWithLimit
