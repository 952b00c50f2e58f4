package klog

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A handle of the library that belongs to a manager, and how it is ended.
type handle struct {
	id    uint64
	close func(uint64)
}

// handles are what a manager gave out and was not given back: it ends them when it is closed. Ids, not objects, so that
// an object that was forgotten can still be collected.
type handles struct {
	mu   sync.Mutex
	open map[uint64]func(uint64)
}

func (h *handles) add(one handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[uint64]func(uint64))
	}
	h.open[one.id] = one.close
}

// take gives a handle to who ends it, once, whoever comes first: its object, the manager, or the garbage collector. It
// answers whether it was open.
func (h *handles) take(id uint64) (end func(uint64), is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end, is = h.open[id]
	delete(h.open, id)
	return end, is
}

// remove ends a handle, and answers whether it was open.
func (h *handles) remove(id uint64) bool {
	end, is := h.take(id)
	if is {
		end(id)
	}
	return is
}

func (h *handles) has(id uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, is := h.open[id]
	return is
}

func (h *handles) takeAll() map[uint64]func(uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.open
	h.open = nil
	return all
}

func (h *handles) removeAll() {
	for id, end := range h.takeAll() {
		end(id)
	}
}

var leaked atomic.Uint64

// Leaked is how many logs, cursors, appenders, fetches and streams of events this process forgot to close before they were
// collected. What could be was closed then; but the garbage collector comes late, and knows nothing of what they hold.
func Leaked() uint64 { return leaked.Load() }

// guard sees to a handle whose object is forgotten. The object must not be reachable from what is given here.
func guard[T any](object *T, from *handles, id uint64) runtime.Cleanup {
	noted := noteSite()
	return runtime.AddCleanup(object, func(id uint64) {
		if from.remove(id) {
			leaked.Add(1)
			tellLeak(noted)
		}
	}, id)
}
