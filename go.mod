module github.com/bowline-dev/bowline

go 1.26.8

require (
	github.com/KimMachineGun/automemlimit v1.0.1 // the memory limits of cgroups and of the machine
	github.com/anishathalye/porcupine v1.3.1 // tests: the store is linearizable
	github.com/go-jose/go-jose/v4 v4.1.4 // the tokens of service accounts: JWT and JWKS
	github.com/go-logr/logr v1.4.4 // the loggers of client-go informers, in adapters/clientgo, and of the requests in client
	github.com/google/btree v1.1.3 // the benchmark that compares it with tidwall/btree
	github.com/google/cel-go v0.29.2 // the functions and loops of CEL are limited
	github.com/google/gnostic-models v0.7.1 // OpenAPI documents as protobuf
	github.com/google/go-cmp v0.7.0 // differences, in tests
	github.com/google/uuid v1.6.0 // uids of objects
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // Accept headers, as Kubernetes reads them
	github.com/prometheus/client_golang v1.25.0 // /metrics
	github.com/robfig/cron/v3 v3.0.1 // schedules of cronjobs, as Kubernetes reads them
	github.com/rogpeppe/go-internal v1.16.0 // the txtar files of transcripts
	github.com/tidwall/btree v1.8.2 // the store's copy-on-write tree: docs/decisions/0001-btree.md
	go.opentelemetry.io/otel v1.45.0 // the names of traces' attributes, and the header that carries a trace
	go.opentelemetry.io/otel/sdk v1.45.0 // tests: records spans
	go.opentelemetry.io/otel/trace v1.45.0 // the spans of requests
	go.uber.org/goleak v1.3.0 // tests: nothing runs after Close
	go.yaml.in/yaml/v3 v3.0.5 // the lines of a kubeconfig's fields; the size of a document without its aliases
	golang.org/x/net v0.62.0 // HTTP/2 that chooses quickly among a thousand streams what to write next
	golang.org/x/sync v0.24.0 // groups of goroutines that fail together
	golang.org/x/sys v0.49.0 // tests: mounts that look like those of a pod
	golang.org/x/time v0.16.0 // the token bucket
	google.golang.org/protobuf v1.36.12 // reading protobuf fields where they stand (protowire)
	gopkg.in/evanphx/json-patch.v4 v4.13.0 // JSON Patch and merge patch, as Kubernetes uses them
	k8s.io/api v0.37.2 // the API types
	k8s.io/apiextensions-apiserver v0.37.2 // schemas of custom resources: structure, pruning, defaults, validation
	k8s.io/apimachinery v0.37.2 // metadata, selectors, Status, strategic merge
	k8s.io/apiserver v0.37.2 // CEL of custom resources: what their rules cost
	k8s.io/client-go v0.37.2 // REST, kubeconfig, and the clients that the tests are written with
	k8s.io/component-helpers v0.37.2 // the quality-of-service class and resources of pods
	k8s.io/cri-streaming v0.37.2 // tests: the streams of a kubelet
	k8s.io/klog/v2 v2.140.0 // what the Kubernetes libraries log goes to our logger
	k8s.io/kube-aggregator v0.37.2 // the type APIService
	k8s.io/kube-openapi v0.0.0-20260821135717-be32def86098 // OpenAPI of the built-in types, at development time; its models
	k8s.io/pod-security-admission v0.37.2 // the checks of the Pod Security Standards, version by version
	k8s.io/streaming v0.37.2 // SPDY connections to kubelets
	k8s.io/utils v0.0.0-20260626114624-be93311217bd // addresses, as Kubernetes parses them; a cache of patterns
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // JSON as Kubernetes reads it: case-sensitive, strict where asked
	sigs.k8s.io/randfill v1.0.0 // tests: random objects of every kind
	sigs.k8s.io/structured-merge-diff/v6 v6.4.2 // who set which field of an object: managedFields, server-side apply
	sigs.k8s.io/yaml v1.6.0 // YAML
)

require (
	cel.dev/expr v0.25.2 // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/blang/semver/v4 v4.0.0 // indirect
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	github.com/emicklei/go-restful/v3 v3.13.0 // indirect
	github.com/felixge/httpsnoop v1.0.4 // indirect
	github.com/fxamacker/cbor/v2 v2.9.1 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-openapi/jsonpointer v1.0.0 // indirect
	github.com/go-openapi/jsonreference v1.0.0 // indirect
	github.com/go-openapi/swag v0.27.1 // indirect
	github.com/go-openapi/swag/cmdutils v0.27.1 // indirect
	github.com/go-openapi/swag/conv v0.27.1 // indirect
	github.com/go-openapi/swag/fileutils v0.27.1 // indirect
	github.com/go-openapi/swag/jsonutils v0.27.1 // indirect
	github.com/go-openapi/swag/loading v0.27.1 // indirect
	github.com/go-openapi/swag/mangling v0.27.1 // indirect
	github.com/go-openapi/swag/netutils v0.27.1 // indirect
	github.com/go-openapi/swag/pools v0.27.1 // indirect
	github.com/go-openapi/swag/stringutils v0.27.1 // indirect
	github.com/go-openapi/swag/typeutils v0.27.1 // indirect
	github.com/go-openapi/swag/yamlutils v0.27.1 // indirect
	github.com/gorilla/websocket v1.5.4-0.20250319132907-e064f32e3674 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/moby/spdystream v0.5.1 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee // indirect
	github.com/pbnjay/memory v0.0.0-20210728143218-7b4eea64cf58 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.69.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.45.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.45.0 // indirect
	go.opentelemetry.io/otel/metric v1.45.0 // indirect
	go.opentelemetry.io/proto/otlp v1.11.0 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/exp v0.0.0-20260410095643-746e56fc9e2f // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/grpc v1.83.1 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	k8s.io/component-base v0.37.2 // indirect
	sigs.k8s.io/apiserver-network-proxy/konnectivity-client v0.36.0 // indirect
)
