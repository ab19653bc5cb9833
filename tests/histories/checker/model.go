// SPDX-License-Identifier: Apache-2.0

// The lock as its clients may count on it. See ../README.md for what it says and what it does not.
package main

// A lease is what a whole history says of one lease id, whatever the order of its operations.
type lease struct {
	token    int64   // its only one, unless the store forgets it: the lowest; 0: no answer has told it
	tokens   bool    // answers have told several
	attempt  int     // the highest of those that were answered with a grant
	begin    int64   // its first acquire was sent
	unsure   bool    // it may run for longer than was answered: a session keeps it, or an acquire or extend had no answer
	open     bool    // an acquire has no definite answer: it may be granted later, or never
	end      int64   // when the last of its acquires was answered
	releases []int64 // when each release was sent
	ends     []int64 // the same, and when each acquire was sent whose withdrawal may end it
	released int64   // when the first definite answer to a release came
}

// A state is one lock at one moment.
type state struct {
	now   int64  // not earlier than this
	lease string // the holder; empty: none
	token int64  // of the holder; 0: no answer has told it yet
	end   int64  // the holder's lease does not end by itself before this
	last  int64  // the holder's lease has ended by itself after this
	high  int64  // no token below or at this is granted any more
	stale int64  // nor is one below or at this admitted: a higher one was given out
}

type model struct {
	leases    map[string]*lease
	forgotten int64
}

// counted is how long a client counts on what is left of a lease: less the margin of the client contract.
func counted(leftUs int64) int64 { return leftUs*990 - 50_000_000 }

// lasting is how long a lease runs at most: its answer was late, and clocks run a little apart.
func lasting(o *operation) int64 { return o.End + o.LeftUs*1010 + 50_000_000 }

// step places an operation after those that led to s. The text says why it cannot be there, empty if it can.
func (m *model) step(s state, o *operation) (state, string) {
	if s.now < o.Begin {
		s.now = o.Begin
	}
	why := ""
	switch o.Kind + " " + o.Reason {
	case "acquire ":
		s, why = m.granted(s, o)
	case "acquire HELD":
		s, why = m.holds(s, o, o.Holder)
	case "acquire LEASE_ENDED", "extend LEASE_LOST":
		s = m.ended(s, o, m.leases[o.Lease].ends)
	case "extend ":
		if s, why = m.holds(s, o, o.Lease); why == "" {
			s = m.extended(s, o)
		}
	case "release ":
		s, why = m.released(s, o)
	case "release EXPIRED", "release WAITER_REMOVED":
		s = m.ended(s, o, others(m.leases[o.Lease].ends, o))
	case "release NOT_HOLDER":
		ends := others(m.leases[o.Lease].ends, o)
		if o.End >= m.forgotten {
			ends = append(ends, o.Begin) // A forgotten lease cannot be taken back any more.
		}
		s = m.ended(s, o, ends)
	case "fence ADMITTED", "fence STALE", "fence EXPIRED", "fence UNKNOWN_TOKEN":
		s, why = m.fenced(s, o)
	default:
		why = "the model knows no such answer"
	}
	if why == "" && s.now > o.End {
		why = "the lease before had not ended by then"
	}
	return s, why
}

// over ends the holder's lease, no earlier than it may: by itself at its end, or by what its client sent.
func (m *model) over(s state, ends []int64) state {
	until := s.end
	for _, sent := range ends {
		if sent < until {
			until = sent
		}
	}
	if s.lease != "" && s.now < until {
		s.now = until
	}
	s.lease = ""
	return s
}

func (m *model) free(s state) state {
	if s.lease == "" {
		return s
	}
	return m.over(s, m.leases[s.lease].ends)
}

func (m *model) ended(s state, o *operation, ends []int64) state {
	if s.lease == o.Lease {
		s = m.over(s, ends)
	}
	return s
}

// others are those of these times at which something else than o was sent.
func others(times []int64, o *operation) (rest []int64) {
	for _, sent := range times {
		if sent != o.Begin {
			rest = append(rest, sent)
		}
	}
	return rest
}

// extended moves the end of the holder's lease, and knows its token from then on.
func (m *model) extended(s state, o *operation) state {
	s.token, s.high = o.Token, o.Token
	if end := s.now + counted(o.LeftUs); end > s.end {
		s.end = end
	}
	if last := lasting(o); last > s.last {
		s.last = last
	}
	if m.leases[s.lease].unsure || o.End >= m.forgotten {
		s.last = forever // A clock that is set back makes it longer.
	}
	return s
}

// grantedAnew says whether a lease that had ended may have been granted once more, by the time of the answer: the
// store has forgotten it, and an acquire of it may have come to the store since.
func (m *model) grantedAnew(l *lease, o *operation) bool {
	return o.End >= m.forgotten && (l.tokens || l.open)
}

func (m *model) granted(s state, o *operation) (state, string) {
	l := m.leases[o.Lease]
	if o.Token != l.token && !m.grantedAnew(l, o) {
		return s, "its lease was answered with another token"
	}
	if s.lease != o.Lease || s.token != 0 && o.Token != s.token {
		if o.Token <= s.high {
			return s, "its token is not above those before, or its lease had ended"
		}
		s = m.free(s)
		s.lease, s.token, s.end, s.last, s.high = o.Lease, 0, s.now, s.now, o.Token
	}
	return m.extended(s, o), ""
}

// holds lets `holder` have the lock: it has it, or its acquire, which has no answer yet or never gets one, takes
// effect now.
func (m *model) holds(s state, o *operation, holder string) (state, string) {
	l := m.leases[holder]
	if l == nil {
		return s, "nobody has asked for the lease that holds the lock"
	}
	token, told := l.token, o.Kind == "extend"
	if m.grantedAnew(l, o) {
		token = 0
	}
	if told && token != 0 && o.Token != token {
		return s, "its lease was answered with another token"
	}
	if told {
		token = o.Token
	}
	isSame := s.lease == holder && (!told || s.token == token || s.token == 0 && token >= s.high)
	if isSame && (s.now <= s.last || o.End >= m.forgotten) {
		return s, ""
	}
	if token != 0 && token <= s.high {
		return s, "the lease that is said to hold the lock had ended"
	}
	s = m.free(s)
	if s.now < l.begin {
		s.now = l.begin
	}
	last := l.end
	if l.open {
		last = forever
	}
	if l.released < last && o.End < m.forgotten {
		last = l.released
	}
	if s.now > last {
		return s, "the lease that is said to hold the lock was not granted, or was released"
	}
	s.lease, s.token, s.end, s.last, s.high = holder, 0, s.now, forever, s.high+1
	return s, ""
}

func (m *model) released(s state, o *operation) (state, string) {
	if s.lease != o.Lease {
		for _, sent := range others(m.leases[o.Lease].releases, o) {
			if sent <= o.End {
				return s, "" // An earlier one has released it.
			}
		}
		var why string
		if s, why = m.holds(s, o, o.Lease); why != "" {
			return s, why
		}
	}
	s.lease = ""
	return s, ""
}

func (m *model) fenced(s state, o *operation) (state, string) {
	switch o.Reason {
	case "ADMITTED":
		if o.Token != s.high || o.Token <= s.stale {
			return s, "the token is not the newest one"
		}
		if o.Live && (s.lease == "" || s.token != o.Token || s.now > s.last && o.End < m.forgotten) {
			return s, "the token's lease had ended"
		}
	case "STALE":
		if o.Token >= s.high {
			s = m.free(s)
			s.stale = o.Token // A higher one was offered to somebody who has not taken it yet.
		}
	case "EXPIRED":
		if o.Token != s.high || o.Token <= s.stale {
			return s, "the token is not the newest one"
		}
		s = m.free(s)
	case "UNKNOWN_TOKEN":
		if o.Token <= s.high && o.End < m.forgotten {
			return s, "the token was granted"
		}
	}
	return s, ""
}
