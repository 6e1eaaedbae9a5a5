// Package clientgo provides Bowline's informers behind client-go's interfaces, for programs that are written with
// client-go. They take less memory, and in the process of a server they share its objects instead of copying them. The
// interfaces keep client-go's guarantees:
//
//   - NewSharedInformerFactory replaces informers.NewSharedInformerFactory, and NewDynamicSharedInformerFactory the
//     factory of package dynamicinformer. An operator changes only the line that creates its factory;
//   - New returns one informer as a cache.SharedIndexInformer, for the InformerFor method of generated factories;
//   - Informer returns an informer of one of Bowline's factories, to share it with controllers of package controller.
//
// Listers and indexers implement client-go's interfaces on Bowline's caches. Cached objects are shared, as client-go's
// are: copy them before you change them. docs/adapters.md lists the differences from client-go.
package clientgo
