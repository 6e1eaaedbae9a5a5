// Package controllerruntime lets an operator that is written with controller-runtime have this project's informers, by
// one line of its manager's options:
//
//	manager, err := ctrl.NewManager(config, ctrl.Options{NewCache: controllerruntime.NewCache})
//
// or, in the server's own process, with the server's own objects, so that no byte is made of them and none is kept
// twice:
//
//	manager, err := ctrl.NewManager(plane.RESTConfig(), ctrl.Options{NewCache: controllerruntime.On(plane.Source())})
//
// What reads the cache, which namespaces and selectors it has, what is copied and what is indexed stays
// controller-runtime's own code: all cache.Options mean what they say there. The informers underneath are package
// clientgo's.
package controllerruntime
