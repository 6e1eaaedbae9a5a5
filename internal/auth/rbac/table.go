package rbac

import "maps"

// table is an immutable map. A changed copy costs little, however large the table is: recent changes are in a small map
// of their own, which is merged with the large map when it has grown. The zero value is empty.
type table[K comparable, V any] struct {
	base map[K]V
	// changed has precedence over base; nil stands for a removed key.
	changed map[K]*V
	count   int // of the keys
}

// get returns the value of a key, and whether there is one.
func (t *table[K, V]) get(key K) (value V, ok bool) {
	if len(t.changed) > 0 {
		if v, is := t.changed[key]; is {
			if v == nil {
				return value, false
			}
			return *v, true
		}
	}
	value, ok = t.base[key]
	return value, ok
}

// fork returns a copy that set and remove change, while t stays as it is.
func (t table[K, V]) fork() table[K, V] {
	if t.changed = maps.Clone(t.changed); t.changed == nil {
		t.changed = map[K]*V{}
	}
	return t
}

// compact merges the changes with the rest if there are more than fewChanges and a changedShare-th of the rest. It ends
// the changes of a table that fork has returned.
func (t *table[K, V]) compact() {
	if t.count == 0 {
		t.base, t.changed = nil, nil
	} else if len(t.changed) > fewChanges+len(t.base)/changedShare {
		t.base, t.changed = t.merged(), nil
	}
}

const fewChanges, changedShare = 32, 32

func (t *table[K, V]) merged() map[K]V {
	all := make(map[K]V, len(t.base)+len(t.changed))
	maps.Copy(all, t.base)
	for key, v := range t.changed {
		if v == nil {
			delete(all, key)
		} else {
			all[key] = *v
		}
	}
	return all
}

func (t *table[K, V]) set(key K, value V) {
	if _, ok := t.get(key); !ok {
		t.count++
	}
	t.changed[key] = &value
}

func (t *table[K, V]) remove(key K) {
	if _, ok := t.get(key); ok {
		t.count--
	}
	if _, ok := t.base[key]; ok {
		t.changed[key] = nil
	} else {
		delete(t.changed, key)
	}
}

// empty reports whether the table has no key.
func (t *table[K, V]) empty() bool { return t.count == 0 }
