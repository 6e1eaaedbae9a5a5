package podgc

// AddKeeping adds a controller that keeps so many pods that have ended.
var AddKeeping = addKeeping
