package server

import (
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

// takeOver reuses the kinds that another server made of definitions, if this server's store has the same
// objects. It decodes no definition: there may be a thousand, and decoding one takes as long as serving many
// requests.
func (d *definitions) takeOver(from *definitions) {
	from.mu.Lock()
	defer from.mu.Unlock()
	builtin, _ := d.s.kinds.Stored(definitionsResource)
	var kinds []kind.Kind
	for _, k := range from.s.kinds.Kinds() {
		made, ok := k.(*structural.Kind)
		if !ok {
			continue
		}
		key := object.KeyOf(definitionsResource, "", made.Info().GroupResource().String())
		state := from.settled[key]
		if state.kind != made || d.s.store.Get(key) != state.object {
			continue
		}
		if shared := made.Share(builtin.Cache()); shared != nil {
			kinds = append(kinds, shared)
			d.settled[key] = settled{state.object, shared}
		}
	}
	d.s.kinds.Put(kinds...)
}
