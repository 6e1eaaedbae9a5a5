// Package clientgo lets programs that are written with client-go have this project's informers: less memory, no copies
// of what the server in the same process has, no polling, and nothing else to change. What client-go's interfaces
// promise holds:
//
//   - NewSharedInformerFactory stands in for informers.NewSharedInformerFactory; NewDynamicSharedInformerFactory for the factory of
//     package dynamicinformer. An operator changes the line that makes its factory;
//   - New is one informer as a cache.SharedIndexInformer, for the InformerFor of a factory that was generated for custom
//     resources;
//   - Informer is the informer of one of our factories, shared with controllers that are written with this project.
//
// Their listers and indexers are client-go's interfaces on our caches. Objects in them are shared, as client-go's are:
// copy before changing. docs/adapters.md tells of the differences that there are.
package clientgo
