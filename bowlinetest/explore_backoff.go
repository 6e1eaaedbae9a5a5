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

// client-go pauses after each error that it can only log, and stores the time of the last one in a global
// variable. A bubble's clock starts in the year 2000, so after an error outside the bubble the first error
// inside would wait for decades. init replaces the pause by a constant one.
func init() {
	utilruntime.ErrorHandlers = slices.DeleteFunc(utilruntime.ErrorHandlers, func(h utilruntime.ErrorHandler) bool {
		return strings.Contains(runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name(), "backoffError")
	})
	utilruntime.ErrorHandlers = append(utilruntime.ErrorHandlers, func(context.Context, error, string, ...any) {
		time.Sleep(time.Millisecond)
	})
}
