// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import "time"

const (
	sessionOpenTimeout = 2 * time.Second  // some proxies forward nothing of a stream until it has ended
	sessionLifeMin     = 10 * time.Second // a stream that lived so long was of use, even if it was cut then
	shortSessionsMax   = 3                // after so many shorter ones in a row, streams count as cut here
	pauseAfterCuts     = time.Minute
	pauseUnsupported   = 5 * time.Minute
	pauseNotOpenedMax  = time.Minute
)

// sessionEnd is how a session came to its end.
type sessionEnd int

const (
	endUnsupported sessionEnd = iota // the server, or a proxy, does not know the rpc
	endNotOpened
	endCut     // it was open, and ended without our doing
	endRetired // we closed it
)

// sessionPolicy decides whether to open a session to a daemon. Pure: it takes the time as an argument.
type sessionPolicy struct {
	nextAt        instant
	openedAt      instant
	failures      int
	shortSessions int // in a row
}

func (p *sessionPolicy) mayOpen(now instant) bool { return now >= p.nextAt }

// mayWait tells whether operations may wait for the opening. Otherwise they go by unary calls until the session is open.
func (p *sessionPolicy) mayWait() bool { return p.failures == 0 }

func (p *sessionPolicy) opened(now instant) {
	p.openedAt = now
	p.failures = 0
}

func (p *sessionPolicy) ended(how sessionEnd, now instant, jitter float64) {
	switch how {
	case endUnsupported:
		p.failures++
		p.nextAt = now.add(pauseUnsupported)
	case endNotOpened:
		p.failures++
		p.nextAt = now.add(backoff(p.failures, pauseNotOpenedMax, jitter))
	case endCut:
		if now.since(p.openedAt) >= sessionLifeMin {
			p.shortSessions = 0
			return
		}
		if p.shortSessions++; p.shortSessions >= shortSessionsMax {
			p.failures++
			p.nextAt = now.add(pauseAfterCuts)
		}
	case endRetired:
	}
}
