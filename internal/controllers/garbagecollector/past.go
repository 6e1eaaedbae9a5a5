package garbagecollector

import (
	"strings"
	"sync"

	"github.com/bowline-dev/bowline/controller"
)

// again is what makes two objects that are collected one after the other the same: their name, and their owners.
type again struct {
	controller.Request
	owners string
}

// ownersOf are the uids of an object's owners.
func ownersOf(obj object) string {
	var uids []string
	for _, r := range obj.OwnerReferences {
		uids = append(uids, string(r.UID))
	}
	return strings.Join(uids, " ")
}

// past is how often objects were collected.
type past struct {
	mu      sync.Mutex
	objects map[again]int
}

func (p *past) times(which again) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects[which]
}

func (p *past) add(which again) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.objects) >= mostAbsent || p.objects == nil {
		p.objects = map[again]int{}
	}
	p.objects[which]++
}
