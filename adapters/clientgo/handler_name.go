package clientgo

import (
	"fmt"
	"reflect"
	"runtime"

	"k8s.io/client-go/tools/cache"
)

// nameOf is what a handler is called in logs and errors: by its first function, or by its type.
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

// firstName is the name of the first function that there is.
func firstName(functions ...any) string {
	for _, f := range functions {
		if v := reflect.ValueOf(f); !v.IsNil() {
			return runtime.FuncForPC(v.Pointer()).Name()
		}
	}
	return "without functions"
}
