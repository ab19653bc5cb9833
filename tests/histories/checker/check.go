// SPDX-License-Identifier: Apache-2.0

// Looks for an order of the operations on each lock that the model allows.
package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// How many of the operations before a contradiction are shown.
const excerptLength = 12

type verdict struct {
	result     porcupine.CheckResult
	locks      int
	operations int // that the model judges
	unknown    int // whose outcome nobody knows
	grants     int
	text       string // the contradictions, if there are any
}

// isDefinite: the answer says that this acquire has no effect and will have none. One that is turned away by a
// daemon that stops keeps its place in line.
func isDefinite(o *operation) bool {
	return o.Outcome == "fail" && o.Reason != "SERVER_DRAINING" && o.Reason != "OUTCOME_UNKNOWN"
}

// isGivenUp: the daemon withdraws this acquire, and with it the grant of an earlier attempt, never that of a later one.
func isGivenUp(o *operation) bool {
	return o.Kind == "acquire" && (o.Outcome == "unknown" || o.Reason == "STORE_UNAVAILABLE")
}

// isJudged: the answer says something of the lock. An offer does not yet, the holder of a lock without an owner text
// is not known, and other failures say nothing.
func isJudged(o *operation) bool {
	if o.Outcome == "ok" {
		return !o.Offered
	}
	switch o.Kind + " " + o.Reason {
	case "acquire HELD":
		return o.Outcome == "fail" && o.Holder != ""
	case "acquire LEASE_ENDED", "extend LEASE_LOST":
		return o.Outcome == "fail"
	}
	return false
}

func leasesOf(operations []*operation) map[string]*lease {
	leases := map[string]*lease{}
	for _, o := range operations {
		l := leases[o.Lease]
		if l == nil && o.Lease != "" {
			l = &lease{begin: forever, released: forever}
			leases[o.Lease] = l
		}
		if l != nil && o.Kind != "release" && (o.Session || o.Outcome != "ok" && !isDefinite(o)) {
			l.unsure = true
		}
		switch o.Kind {
		case "acquire":
			if o.Begin < l.begin {
				l.begin = o.Begin
			}
			if o.Outcome != "ok" && !isDefinite(o) || o.Offered {
				l.open = true
			} else if o.End > l.end {
				l.end = o.End
			}
			if o.Outcome == "ok" && o.Attempt > l.attempt {
				l.attempt = o.Attempt
			}
		case "release":
			l.releases = append(l.releases, o.Begin)
			if o.Outcome == "ok" && o.End < l.released {
				l.released = o.End
			}
		}
		if (o.Kind == "acquire" || o.Kind == "extend") && o.Outcome == "ok" && !o.Offered {
			l.tokens = l.tokens || l.token != 0 && o.Token != l.token
			if l.token == 0 || o.Token < l.token {
				l.token = o.Token // Of several, the model refuses the others while nothing is forgotten.
			}
		}
	}
	for _, o := range operations {
		if l := leases[o.Lease]; o.Kind == "release" || isGivenUp(o) && o.Attempt > l.attempt {
			l.ends = append(l.ends, o.Begin)
		}
	}
	return leases
}

func byLock(h *history) (names []string, locks map[string][]*operation) {
	locks = map[string][]*operation{}
	for _, o := range h.operations {
		if locks[o.Lock] == nil {
			names = append(names, o.Lock)
		}
		locks[o.Lock] = append(locks[o.Lock], o)
	}
	sort.Strings(names)
	return names, locks
}

// check judges lock by lock. `html` gets the picture of the first contradiction, if it is not empty.
func check(h *history, limit time.Duration, html string) verdict {
	v := verdict{result: porcupine.Ok}
	names, locks := byLock(h)
	v.locks = len(names)
	for _, name := range names {
		m := &model{leases: leasesOf(locks[name]), forgotten: h.forgotten}
		judged := v.count(locks[name])
		p := m.porcupine()
		result, info := porcupine.CheckOperationsVerbose(p, judged, limit)
		switch {
		case result == porcupine.Illegal:
			v.text += m.explain(name, judged, info, h)
			if html != "" && v.result != porcupine.Illegal {
				if err := porcupine.VisualizePath(p, info, html); err != nil {
					v.text += fmt.Sprintf("no picture: %v\n", err)
				}
			}
			v.result = result
		case result == porcupine.Unknown && v.result == porcupine.Ok:
			v.result = result
			v.text += fmt.Sprintf("lock %s: %d operations are not judged after %v\n", name, len(judged), limit)
		}
	}
	if v.result == porcupine.Ok && v.grants == 0 {
		v.result, v.text = porcupine.Unknown, "nothing was granted\n"
	}
	return v
}

func (v *verdict) count(operations []*operation) (judged []porcupine.Operation) {
	clients := map[string]int{}
	for _, o := range operations {
		if _, known := clients[o.Client]; !known {
			clients[o.Client] = len(clients)
		}
		if o.Outcome == "unknown" {
			v.unknown++
		}
		if o.Kind == "acquire" && o.Outcome == "ok" {
			v.grants++
		}
		if isJudged(o) {
			judged = append(judged, porcupine.Operation{ClientId: clients[o.Client], Input: o, Call: o.Begin, Return: o.End})
		}
	}
	v.operations += len(judged)
	return judged
}

func (m *model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return state{} },
		Step: func(s, input, _ interface{}) (bool, interface{}) {
			next, why := m.step(s.(state), input.(*operation))
			return why == "", next
		},
		DescribeOperation: func(input, _ interface{}) string { return describe(input.(*operation)) },
		DescribeState: func(s interface{}) string {
			st := s.(state)
			return fmt.Sprintf("held by %q, token %d, newest %d", st.lease, st.token, st.high)
		},
	}
}

func describe(o *operation) string {
	text := o.Kind
	if o.Lease != "" {
		text += " " + o.Lease
	}
	if o.Attempt > 0 {
		text += fmt.Sprintf(" attempt %d", o.Attempt)
	}
	if o.Kind == "fence" {
		text += fmt.Sprintf(" token %d", o.Token)
		if o.Live {
			text += " live"
		}
	}
	text += " -> " + o.Outcome
	if o.Reason != "" {
		text += " " + o.Reason
	}
	if o.Holder != "" {
		text += " by " + o.Holder
	}
	if o.Kind != "fence" && o.Token != 0 {
		text += fmt.Sprintf(" token %d", o.Token)
	}
	if o.LeftUs != 0 {
		text += fmt.Sprintf(", %.0f ms left", float64(o.LeftUs)/1e3)
	}
	return text
}

// earliestEnd is that of the operations which this order leaves out.
func earliestEnd(all []porcupine.Operation, order []int) int64 {
	placed := make([]bool, len(all))
	for _, id := range order {
		placed[id] = true
	}
	earliest := int64(forever)
	for id, o := range all {
		if !placed[id] && o.Return < earliest {
			earliest = o.Return
		}
	}
	return earliest
}

// explain shows the longest order that the model allows, and why none of what could come next can.
func (m *model) explain(lock string, all []porcupine.Operation, info porcupine.LinearizationInfo, h *history) string {
	// Of the longest orders, that which comes furthest in time.
	var longest []int
	var first int64 // What it leaves out has to come before this, the earliest of its ends.
	for _, order := range info.PartialLinearizations()[0] {
		if end := earliestEnd(all, order); longest == nil || end > first {
			longest, first = order, end
		}
	}
	s, placed := state{}, map[int]bool{}
	var orderly []*operation
	for _, id := range longest {
		o := all[id].Input.(*operation)
		s, _ = m.step(s, o)
		placed[id] = true
		orderly = append(orderly, o)
	}
	if len(orderly) > excerptLength {
		orderly = orderly[len(orderly)-excerptLength:]
	}
	base := first
	if len(orderly) > 0 {
		base = orderly[0].Begin
	}
	ms := func(t int64) string {
		if t == forever {
			return "never"
		}
		return fmt.Sprintf("%.3f", float64(t-base)/1e6)
	}
	line := func(o *operation) string {
		return fmt.Sprintf("  %10s .. %-10s %-8s %s", ms(o.Begin), ms(o.End), o.Client, describe(o))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "lock %s: no order of its %d operations is right; times in ms from %d ns\n", lock, len(all), base)
	fmt.Fprintf(&text, " the last of %d that can stand in an order:\n", len(longest))
	for _, o := range orderly {
		fmt.Fprintln(&text, line(o))
	}
	fmt.Fprintf(&text, " then: held by %q, token %d, until %s; newest token %d; not before %s\n", s.lease, s.token, ms(s.end), s.high, ms(s.now))
	fmt.Fprintln(&text, " none of these can come next:")
	for id, p := range all {
		if o := p.Input.(*operation); !placed[id] && p.Call <= first {
			_, why := m.step(s, o)
			fmt.Fprintf(&text, "%s\n      %s\n", line(o), why)
		}
	}
	for _, f := range h.faults {
		if f.Begin > base-5_000_000_000 && f.Begin < first {
			fmt.Fprintf(&text, " fault at %s: %s\n", ms(f.Begin), f.Fault)
		}
	}
	return text.String()
}
