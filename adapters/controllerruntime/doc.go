// Package controllerruntime runs operators that are written with controller-runtime on Bowline's informers. One option
// of the manager selects them:
//
//	manager, err := ctrl.NewManager(config, ctrl.Options{NewCache: controllerruntime.NewCache})
//
// In the process of the server, the informers share the server's own objects, without encoding or copying them:
//
//	manager, err := ctrl.NewManager(plane.RESTConfig(), ctrl.Options{NewCache: controllerruntime.On(plane.Source())})
//
// The cache itself is controller-runtime's, so all cache.Options have their documented meaning: namespaces, selectors,
// copies and indexes. The informers below are those of package clientgo.
package controllerruntime
