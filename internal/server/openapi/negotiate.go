package openapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The media types of documents. Those of protobuf have an older name, which is not a valid media type but is
// still requested.
const (
	jsonFormat          = "application/json"
	protobufFormat      = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	protobufOldFormat   = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	protobufFormatV2    = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	protobufOldFormatV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
)

// negotiate returns the media type of a document that an Accept header prefers. The protobuf form has two
// names.
func negotiate(accept, protobuf, old string) (string, bool) {
	if strings.TrimSpace(accept) == "" {
		return jsonFormat, true
	}
	for _, name := range preferred(accept) {
		switch name {
		case "*/*", "application/*", jsonFormat:
			return jsonFormat, true
		case protobuf, old:
			return protobuf, true
		}
	}
	return "", false
}

// acceptsGzip reports whether the client accepts a compressed body.
func acceptsGzip(h http.Header) bool {
	return slices.Contains(preferred(strings.Join(h.Values("Accept-Encoding"), ",")), "gzip")
}

// preferred returns the values of an Accept header without their parameters, by quality, without those of
// quality 0. It does not use package mime, which rejects the old names.
func preferred(accept string) []string {
	type clause struct {
		name    string
		quality float64
	}
	var clauses []clause
	for text := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(text, ";")
		c := clause{strings.ToLower(strings.TrimSpace(name)), 1}
		for p := range strings.SplitSeq(parameters, ";") {
			if value, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
				c.quality, _ = strconv.ParseFloat(value, 64)
			}
		}
		if c.quality > 0 {
			clauses = append(clauses, c)
		}
	}
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(b.quality, a.quality) })
	names := make([]string, len(clauses))
	for i, c := range clauses {
		names[i] = c.name
	}
	return names
}
