package structural

import (
	"runtime"
	"testing"
	"weak"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestObjectsDoNotRetainDefinition checks that stored objects do not retain the compiled schema of a deleted or
// changed definition. The history holds objects for minutes, and a compiled schema is much larger than most
// objects.
func TestObjectsDoNotRetainDefinition(t *testing.T) {
	t.Parallel()
	made := func() *Kind {
		k, err := New(object.NewCache(1<<20), parseDefinition(t, widget), nil)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	last := made()
	var o *object.Object
	ended := func() weak.Pointer[compiled] {
		k := made()
		o = storedWidget(t, k)
		if _, err := o.Decoded(k.Codec()); err != nil {
			t.Fatal(err)
		}
		c, err := k.version.compiled()
		if err != nil {
			t.Fatal(err)
		}
		k.End()
		return weak.Make(c)
	}()
	for range 3 { // sync.Pool retains its contents for two cycles
		runtime.GC()
	}
	if ended.Value() != nil {
		t.Error("the compiled schema of a deleted definition is retained")
	}
	if _, err := o.Decoded(last.Codec()); err != nil {
		t.Error(err)
	}
}

func storedWidget(t testing.TB, k *Kind) *object.Object {
	t.Helper()
	obj := widgetWith(t, k, `"spec":{"size":"large"}`)
	obj.SetResourceVersion(object.RevisionPlaceholder)
	data, err := k.Encode(exampleV1, obj)
	if err != nil {
		t.Fatal(err)
	}
	encoding, err := object.NewEncoding(exampleV1, data)
	if err != nil {
		t.Fatal(err)
	}
	return object.New(object.Header{Key: "example.com/widgets//w"}, k, encoding)
}

// TestSuccessorReusesCompiledSchemas checks that a successor reuses compiled schemas that have not changed.
func TestSuccessorReusesCompiledSchemas(t *testing.T) {
	t.Parallel()
	first, second, third := newKind(t, widget).(*Kind), newKind(t, widget).(*Kind), newKind(t, pending).(*Kind)
	second.Succeed(first)
	third.Succeed(second)
	a, _ := first.version.compiled()
	b, _ := second.version.compiled()
	c, _ := third.version.compiled()
	if a != b || b == c {
		t.Error("an unchanged schema was compiled again, or a changed one was not")
	}
	if first.Codec() != third.Codec() {
		t.Error("the first definition decodes objects differently than the last one")
	}
}

// TestShare checks that a shared kind has its own cache and definition, and shares only compiled
// schemas.
func TestShare(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget).(*Kind)
	cache := object.NewCache(1 << 20)
	other := k.Share(cache)
	a, _ := k.version.compiled()
	b, _ := other.version.compiled()
	if a != b || other.Stamp() != k.Stamp() || other.Cache() != cache || k.Cache() == cache {
		t.Error("the schema is compiled twice, or the cache is shared")
	}
	for i, endpoint := range k.Info().Endpoints {
		if in := other.In(endpoint.APIVersion()).(*Kind); in.definition != other.definition ||
			in.Info().Endpoints[i].Version != endpoint.Version {
			t.Errorf("the shared kind's version %s belongs to another definition", endpoint.APIVersion())
		}
	}
	changed := newKind(t, pending).(*Kind)
	changed.Succeed(other)
	other.End()
	select {
	case <-k.Ended():
		t.Error("ending one kind ended the other")
	default:
	}
	if k.Codec() != object.Codec(k.definition) || other.Codec() != object.Codec(changed.definition) {
		t.Error("changing one kind changed the other")
	}
}
