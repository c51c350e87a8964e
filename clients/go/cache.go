package weir

import (
	"container/list"
	"sync"
	"time"
)

// The longest time for which a denial is repeated, whatever the gate permits.
const cacheMaxMS = 1000

// denialCache holds denials that the gate permits the client to repeat. Bounded; the oldest entry leaves first.
type denialCache struct {
	size    int
	mutex   sync.Mutex
	entries map[string]*list.Element
	order   *list.List
	// Changes with each clear: a denial of a request that was sent before is not inserted after it.
	clears uint64
}

type denial struct {
	key          string
	answer       Answer
	since, until time.Time
}

func newDenialCache(size int) *denialCache {
	return &denialCache{size: size, entries: map[string]*list.Element{}, order: list.New()}
}

func (c *denialCache) generation() uint64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.clears
}

func (c *denialCache) get(key string, now time.Time) *Answer {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	element := c.entries[key]
	if element == nil {
		return nil
	}
	found := element.Value.(*denial)
	if !now.Before(found.until) {
		c.remove(element)
		return nil
	}
	return later(found.answer, now.Sub(found.since).Milliseconds())
}

// insert adds a denial. since is the time before the request was sent, so that the entry ends before the gate's decision does.
func (c *denialCache) insert(key string, gate *gateAnswer, since time.Time, generation uint64) {
	answer := gate.answer
	ms := least(gate.cacheForMS, cacheMaxMS)
	if answer.RetryAfterMS != nil {
		ms = least(ms, *answer.RetryAfterMS)
	}
	if answer.Allowed || answer.Degraded != "" || ms <= 0 || c.size <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if generation != c.clears {
		return
	}
	if element := c.entries[key]; element != nil {
		c.remove(element)
	}
	if c.order.Len() >= c.size {
		c.remove(c.order.Front())
	}
	// The caller owns the lists of the answer that it gets.
	owned := later(answer, 0)
	c.entries[key] = c.order.PushBack(&denial{key, *owned, since, since.Add(milliseconds(ms))})
}

func (c *denialCache) clear() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.clears++
	c.order.Init()
	c.entries = map[string]*list.Element{}
}

func (c *denialCache) remove(element *list.Element) {
	delete(c.entries, c.order.Remove(element).(*denial).key)
}

// later is the same denial after this time.
func later(answer Answer, passedMS int64) *Answer {
	left := func(ms *int64) *int64 {
		if ms == nil {
			return nil
		}
		rest := *ms - least(passedMS, *ms)
		return &rest
	}
	answer.RetryAfterMS, answer.ResetAfterMS = left(answer.RetryAfterMS), left(answer.ResetAfterMS)
	answer.DeniedBy = append([]string(nil), answer.DeniedBy...)
	answer.Over = append([]string(nil), answer.Over...)
	answer.Limits = append([]LimitAnswer(nil), answer.Limits...)
	for at := range answer.Limits {
		limit := &answer.Limits[at]
		limit.RetryAfterMS, limit.ResetAfterMS = left(limit.RetryAfterMS), left(limit.ResetAfterMS)
	}
	answer.Cached = true
	return &answer
}

func least(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}
