package message_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/internal/message"
)

// protobuf is implemented by all of Kubernetes' built-in types.
type protobuf interface {
	message.Unmarshaler
	Marshal() ([]byte, error)
}

// filler fills objects with pseudorandom values.
func filler(seed int64) *randfill.Filler {
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme.Scheme))
	return fill.NilChance(0.3).NumElements(0, 3).MaxDepth(14)
}

// eachType calls f with each of Kubernetes' built-in types.
func eachType(t *testing.T, f func(name string, t reflect.Type)) {
	types := map[string]reflect.Type{}
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(goType).Interface().(protobuf); ok && !strings.HasSuffix(kind.Kind, "Options") {
			types[kind.String()] = goType
		}
	}
	if len(types) < 300 {
		t.Errorf("there are only %d types", len(types))
	}
	for _, name := range slices.Sorted(maps.Keys(types)) { // sorted, so that each type has the same values in each run
		f(name, types[name])
	}
}

func marshalled(t *testing.T, fill *randfill.Filler, of reflect.Type) []byte {
	t.Helper()
	obj := reflect.New(of).Interface().(protobuf)
	fill.Fill(obj)
	data, err := obj.Marshal()
	if err != nil {
		t.Fatalf("%s: %v", of, err)
	}
	return data
}

// Read returns the same as Unmarshal, also for repeated messages and for concatenated messages, which merge.
// Later reads do not modify earlier results.
func TestReadMatchesUnmarshal(t *testing.T) {
	t.Parallel()
	fill := filler(1)
	eachType(t, func(name string, of reflect.Type) {
		r := message.NewReader()
		made, want := []message.Unmarshaler{}, []message.Unmarshaler{}
		a, b, c := marshalled(t, fill, of), marshalled(t, fill, of), marshalled(t, fill, of)
		for _, data := range [][]byte{a, b, a, slices.Concat(a, b), slices.Concat(b, a, c), b, {}} {
			mine, theirs := reflect.New(of).Interface().(message.Unmarshaler),
				reflect.New(of).Interface().(message.Unmarshaler)
			if err := theirs.Unmarshal(data); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			buffer := bytes.Clone(data)
			if err := r.Read(buffer, mine); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			clear(buffer) // Read must retain none of it
			made, want = append(made, mine), append(want, theirs)
		}
		if !reflect.DeepEqual(made, want) {
			t.Errorf("%s: want -, got +:\n%s", name, cmp.Diff(want, made))
		}
	})
}

// field returns a protobuf field of bytes.
func field(number protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), data)
}

// Messages that Kubernetes' encoders do not write are decoded as Unmarshal does, and do not modify earlier
// results.
func TestReadMatchesUnmarshalForIrregularMessages(t *testing.T) {
	t.Parallel()
	const spec, volumes, containers, securityContext, claimStatus, devices, data = 2, 1, 2, 14, 3, 4, 5
	device := func(values ...string) []byte {
		var fields []byte
		for _, v := range values {
			fields = append(fields, field(data, field(1, []byte(v)))...)
		}
		return field(claimStatus, field(devices, fields))
	}
	alternating := bytes.Repeat(slices.Concat(field(volumes, nil), field(containers, nil)), 8_000)
	for name, messages := range map[string][][]byte{
		"two fields in turns":   {field(spec, alternating)},
		"bytes that come again": {device(`"aaaa"`), device(`"aaaa"`, `"bbbb"`), device(`"aaaa"`)},
		"a number in the place of a struct": {field(spec, field(securityContext, nil)),
			field(spec, []byte{securityContext << 3, 5})},
	} {
		of := reflect.TypeFor[corev1.Pod]()
		if name == "bytes that come again" {
			of = reflect.TypeFor[resourcev1.ResourceClaim]()
		}
		r := message.NewReader()
		var made, want []any
		for _, data := range messages {
			mine, theirs := reflect.New(of).Interface().(message.Unmarshaler),
				reflect.New(of).Interface().(message.Unmarshaler)
			if my, their := fmt.Sprint(r.Read(data, mine)), fmt.Sprint(theirs.Unmarshal(data)); my != their {
				t.Errorf("%s: %s, want %s", name, my, their)
			}
			made, want = append(made, mine), append(want, theirs)
		}
		if !reflect.DeepEqual(made, want) {
			t.Errorf("%s: it was not read as Unmarshal reads it, or has changed since", name)
		}
	}
}

// Read returns an error for every malformed message for which Unmarshal does: truncated or corrupted
// anywhere.
func TestReadRejectsMalformedMessages(t *testing.T) {
	t.Parallel()
	fill, random := filler(2), rand.New(rand.NewSource(2))
	refused := 0
	for range 40 {
		whole, r := marshalled(t, fill, reflect.TypeFor[corev1.Pod]()), message.NewReader()
		for range 200 {
			data := bytes.Clone(whole)
			if random.Intn(2) == 0 {
				data = data[:random.Intn(len(data))]
			} else {
				data[random.Intn(len(data))] = byte(random.Intn(256))
			}
			var mine, theirs corev1.Pod
			if theirs.Unmarshal(data) == nil {
				if r.Read(data, &mine) == nil && !equality.Semantic.DeepEqual(mine, theirs) {
					t.Fatalf("want -, got +:\n%s", cmp.Diff(theirs, mine))
				}
				continue
			}
			refused++
			if r.Read(data, &mine) == nil {
				t.Fatalf("%q was read", data)
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d messages were bad", refused)
	}
}

func TestObjectsShareEqualValues(t *testing.T) {
	t.Parallel()
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "c", LivenessProbe: &corev1.Probe{PeriodSeconds: 5},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			}},
		},
	}
	r := message.NewReader()
	read := func() (into corev1.Pod) {
		data, err := pod.Marshal()
		if err == nil {
			err = r.Read(data, &into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return into
	}
	a, b := read(), read()
	pod.Spec.Containers[0].Image = "another"
	c := read()
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] ||
		reflect.ValueOf(a.Labels).Pointer() != reflect.ValueOf(c.Labels).Pointer() {
		t.Error("equal parts are there twice")
	}
	if cap(a.Spec.Containers) != len(a.Spec.Containers) {
		t.Error("appending to one object changes the others")
	}
	if a.Spec.Containers[0].Image != "" || c.Spec.Containers[0].LivenessProbe != a.Spec.Containers[0].LivenessProbe {
		t.Error("what differs in one part does not share the others")
	}
}

// Values that occur once do not evict values that occur often.
func TestUniqueValuesDoNotEvictSharedOnes(t *testing.T) {
	t.Parallel()
	r := message.NewReader()
	read := func(labels map[string]string) map[string]string {
		data, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}).Marshal()
		var into corev1.Pod
		if err == nil {
			err = r.Read(data, &into)
		}
		if err != nil || !maps.Equal(into.Labels, labels) {
			t.Fatalf("read %+v, %v", into, err)
		}
		return into.Labels
	}
	often := map[string]string{"app": "a"}
	read(often)
	first := read(often)
	for i := range 10_000 {
		read(map[string]string{"unlike": fmt.Sprint(i)})
	}
	if reflect.ValueOf(read(often)).Pointer() != reflect.ValueOf(first).Pointer() {
		t.Error("the labels were read again")
	}
}

// Concurrent reads are safe; run with the race detector.
func TestConcurrentReads(t *testing.T) {
	t.Parallel()
	r := message.NewReader()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				name := fmt.Sprint("one-of-many-", (i+n)%30)
				want := corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "a"}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name,
						LivenessProbe: &corev1.Probe{PeriodSeconds: 5}}}},
				}
				var got corev1.Pod
				data, err := want.Marshal()
				if err == nil {
					err = r.Read(data, &got)
				}
				if err != nil || !equality.Semantic.DeepEqual(got, want) {
					t.Errorf("%v; want -, got +:\n%s", err, cmp.Diff(want, got))
					return
				}
			}
		})
	}
	all.Wait()
}

// If objects have little in common, the cache is bypassed for a while, because it costs more than it saves.
func TestDissimilarObjectsBypassCache(t *testing.T) {
	t.Parallel()
	r := message.NewReader()
	read := func(name string, value string) map[string]string {
		data, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
			Data: map[string]string{"key": value}}).Marshal()
		var into corev1.ConfigMap
		if err == nil {
			err = r.Read(data, &into)
		}
		if err != nil || into.Name != name || into.Data["key"] != value {
			t.Fatalf("read %+v, %v", into, err)
		}
		return into.Data
	}
	shared := func(value string) bool {
		return reflect.ValueOf(read("a", value)).Pointer() == reflect.ValueOf(read("b", value)).Pointer()
	}
	long := strings.Repeat("x", 8<<10)
	read("0", long) // a long value is cached when it repeats
	if !shared(long) {
		t.Fatal("equal data are there twice")
	}
	const mebibyte = 128 // objects
	for i := range 2 * mebibyte {
		read("c", fmt.Sprint(i, long))
	}
	if shared(long) {
		t.Error("what is shared is still looked for among objects that have nothing in common")
	}
	for range 8 * mebibyte {
		read("d", long)
	}
	if !shared(long) {
		t.Error("what is shared is never looked for again")
	}
}
