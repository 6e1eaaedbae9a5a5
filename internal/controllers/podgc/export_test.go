package podgc

// AddKeeping adds a controller that retains up to most ended pods.
var AddKeeping = addKeeping
