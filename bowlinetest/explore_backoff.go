package bowlinetest

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// client-go pauses after each error that it can only log, and remembers the time of the last one in a global
// variable. A bubble's clock starts in the year 2000, so after an error outside the bubble the first error
// inside would wait for decades. This replaces the pause by one of the same length without memory.
func init() {
	utilruntime.ErrorHandlers = slices.DeleteFunc(utilruntime.ErrorHandlers, func(h utilruntime.ErrorHandler) bool {
		return strings.Contains(runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name(), "backoffError")
	})
	utilruntime.ErrorHandlers = append(utilruntime.ErrorHandlers, func(context.Context, error, string, ...any) {
		time.Sleep(time.Millisecond)
	})
}
