package why

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// ReadReport decodes a server's report. The server need not be trusted: texts are truncated and made safe to
// print on a terminal.
func ReadReport(text []byte) (*Report, error) {
	report := &Report{}
	if err := json.Unmarshal(text, report); err != nil {
		return nil, err
	}
	for k := range report.Loops {
		if l := &report.Loops[k]; len(l.Controllers) == 0 || len(l.Objects) == 0 {
			return nil, fmt.Errorf("loops[%d]: names no controllers, or no objects", k)
		}
	}
	tidyAll(reflect.ValueOf(report).Elem())
	return report, nil
}

// tidyAll applies tidy to all strings in a value.
func tidyAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(tidy(v.String()))
		}
	case reflect.Slice:
		for k := range v.Len() {
			tidyAll(v.Index(k))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			tidyAll(field)
		}
	}
}
