package garbagecollector

import (
	"strings"
	"sync"

	"github.com/bowline-dev/bowline/controller"
)

// incarnation identifies successive incarnations of an object: equal name and equal owners.
type incarnation struct {
	controller.Request
	owners string
}

// ownersOf returns the uids of obj's owners, joined.
func ownersOf(obj object) string {
	var uids []string
	for _, r := range obj.OwnerReferences {
		uids = append(uids, string(r.UID))
	}
	return strings.Join(uids, " ")
}

// collections counts how often an object was collected.
type collections struct {
	mu      sync.Mutex
	objects map[incarnation]int
}

func (p *collections) count(which incarnation) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects[which]
}

func (p *collections) add(which incarnation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.objects) >= maxAbsent || p.objects == nil {
		p.objects = map[incarnation]int{}
	}
	p.objects[which]++
}
