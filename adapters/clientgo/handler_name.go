package clientgo

import (
	"fmt"
	"reflect"
	"runtime"

	"k8s.io/client-go/tools/cache"
)

// nameOf returns a handler's name for logs and errors: that of its first function, or of its type.
func nameOf(handler cache.ResourceEventHandler) string {
	switch h := handler.(type) {
	case cache.ResourceEventHandlerFuncs:
		return firstName(h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	case *cache.ResourceEventHandlerFuncs:
		return nameOf(*h)
	case cache.ResourceEventHandlerDetailedFuncs:
		return firstName(h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	case *cache.ResourceEventHandlerDetailedFuncs:
		return nameOf(*h)
	case cache.FilteringResourceEventHandler:
		return nameOf(h.Handler)
	case *cache.FilteringResourceEventHandler:
		return nameOf(h.Handler)
	}
	return fmt.Sprintf("%T", handler)
}

// firstName returns the name of the first function that is not nil.
func firstName(functions ...any) string {
	for _, f := range functions {
		if v := reflect.ValueOf(f); !v.IsNil() {
			return runtime.FuncForPC(v.Pointer()).Name()
		}
	}
	return "without functions"
}
