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

// client-go pauses after each error that it can only log, by a clock that all of the process shares. In a bubble, where it is
// the year 2000, the last error of the outside is decades ahead, and the first one inside would wait for that. So, where tests
// have bubbles, the pause is one of the same length that remembers nothing.
func init() {
	utilruntime.ErrorHandlers = slices.DeleteFunc(utilruntime.ErrorHandlers, func(h utilruntime.ErrorHandler) bool {
		return strings.Contains(runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name(), "backoffError")
	})
	utilruntime.ErrorHandlers = append(utilruntime.ErrorHandlers, func(context.Context, error, string, ...any) {
		time.Sleep(time.Millisecond)
	})
}
