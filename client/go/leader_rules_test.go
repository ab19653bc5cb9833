// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"lockkeeper/client/go/internal/pb"
)

func eventOf(kind string, token int64) *pb.LockEvent {
	value, known := pb.LockEventKind_value["LOCK_EVENT_KIND_"+kind]
	if !known {
		panic(kind)
	}
	return &pb.LockEvent{Kind: pb.LockEventKind(value), Name: "job", FencingToken: token, Owner: fmt.Sprint("owner ", token)}
}

// lookOf is the answer of a look; state "": there is no record.
func lookOf(state string, token int64) *pb.GetLockResponse {
	if state == "" {
		return &pb.GetLockResponse{}
	}
	value, known := pb.LockState_value["LOCK_STATE_"+state]
	if !known {
		panic(state)
	}
	return &pb.GetLockResponse{Lock: &pb.Lock{
		Name: "job", State: pb.LockState(value), FencingToken: token, Owner: fmt.Sprint("owner ", token),
	}}
}

func inQuarantine(said *pb.GetLockResponse, left time.Duration) *pb.GetLockResponse {
	said.QuarantineLeft = durationpb.New(left)
	return said
}

// play lets the rules hear what is written, such as "GRANTED 7", "look HELD 7" or "look", and returns what they say: the token of a new
// leader, 0 for none, and "look" when one becomes due.
func play(t *testing.T, r *leaderRules, at instant, script ...string) string {
	t.Helper()
	var said []string
	for _, line := range script {
		var kind string
		var token int64
		isNew := false
		switch {
		case line == "look" || strings.HasPrefix(line, "look "):
			_, _ = fmt.Sscan(strings.TrimPrefix(line, "look"), &kind, &token)
			if !r.looking {
				r.look(at)
			}
			isNew = r.looked(at, lookOf(kind, token))
		case line == "send look":
			r.look(at)
		default:
			_, _ = fmt.Sscan(line, &kind, &token)
			isNew = r.event(at, eventOf(kind, token))
		}
		switch {
		case isNew && r.leader == nil:
			said = append(said, "0")
		case isNew:
			said = append(said, fmt.Sprint(r.leader.Token))
		}
		if r.mustLook(at) {
			said = append(said, "look")
		}
	}
	return strings.Join(said, " ")
}

func newRules() *leaderRules {
	r := &leaderRules{}
	r.begin(0)
	return r
}

// TestEachEventDoesWhatTheTableSays: each is heard by rules that have looked, and know that 7 leads, is offered or has ended.
func TestEachEventDoesWhatTheTableSays(t *testing.T) {
	for _, c := range []struct{ before, event, want string }{
		{"look HELD 7", "GRANTED 8", "8"},
		{"look HELD 7", "GRANTED 7", ""},
		{"look HELD 7", "GRANTED 6", ""},
		{"look OFFERED 7", "GRANTED 7", "7"},
		{"look ENDED 7", "GRANTED 7", ""},
		{"look ENDED 7", "GRANTED 8", "8"},
		{"look", "GRANTED 1", "1"},
		{"look HELD 7", "GRANTED 0", "look"},
		{"look HELD 7", "OFFERED 8", "0"},
		{"look HELD 7", "OFFERED 7", ""},
		{"look HELD 7", "OFFERED 6", ""},
		{"look ENDED 7", "OFFERED 8", ""},
		{"look HELD 7", "OFFERED 0", "look"},
		{"look HELD 7", "RELEASED 7", "0"},
		{"look HELD 7", "EXPIRED 7", "0"},
		{"look HELD 7", "TAKEN_BACK 7", "0"},
		{"look HELD 7", "FORCED 8", "0"},
		{"look HELD 7", "RELEASED 6", ""},
		{"look HELD 7", "EXPIRED 6", ""},
		{"look HELD 7", "TAKEN_BACK 6", ""},
		{"look HELD 7", "FORCED 6", ""},
		{"look HELD 7", "RELEASED 8", "0"},
		{"look HELD 7", "RELEASED 0", "look"},
		{"look HELD 7", "EXPIRED 0", "look"},
		{"look HELD 7", "TAKEN_BACK 0", "look"},
		{"look HELD 7", "FORCED 0", "look"},
		{"look HELD 7", "EXTENDED 8", "look"},
		{"look HELD 7", "EXTENDED 7", ""},
		{"look HELD 7", "EXTENDED 6", ""},
		{"look HELD 7", "EXTENDED 0", "look"},
		{"look HELD 7", "LOST 8", "look"},
		{"look HELD 7", "LOST 7", "look"},
		{"look HELD 7", "LOST 6", ""},
		{"look HELD 7", "LOST 0", "look"},
		{"look HELD 7", "STARTED 0", "look"},
		{"look HELD 7", "GAP 0", "look"},
		{"look HELD 7", "QUARANTINE_BEGAN 0", ""},
		{"look HELD 7", "QUARANTINE_ENDED 0", "look"},
		{"look HELD 7", "WAITING 0", ""},
		{"look HELD 7", "LEFT 0", ""},
		{"look HELD 7", "UNSPECIFIED 8", "look"},
	} {
		r := newRules()
		play(t, r, 0, c.before)
		if said := play(t, r, 0, c.event); said != c.want {
			t.Errorf("%s, then %s: said %q instead of %q", c.before, c.event, said, c.want)
		}
	}
}

func TestALookSaysWhoLeads(t *testing.T) {
	for _, c := range []struct{ before, look, want string }{
		{"", "look HELD 7", "7"},
		{"", "look OFFERED 7", "0"},
		{"", "look ENDED 7", "0"},
		{"", "look", "0"},
		{"", "look UNPROVEN 7", ""}, // it is not known yet
		{"GRANTED 7", "look HELD 7", ""},
		{"GRANTED 7", "look HELD 8", "8"},
		{"GRANTED 7", "look HELD 6", ""}, // of a store that is behind
		{"GRANTED 7", "look OFFERED 8", "0"},
		{"GRANTED 7", "look ENDED 7", "0"},
		{"GRANTED 7", "look ENDED 6", "0"},
		{"GRANTED 7", "look", "0"}, // its record is gone: the watch has missed the end
		{"GRANTED 7", "look UNPROVEN 7", ""},
		{"GRANTED 7", "look UNPROVEN 8", ""},
		{"RELEASED 7", "look HELD 7", "7"}, // the end was that of another lease
		{"RELEASED 7", "look ENDED 7", ""},
		{"OFFERED 7", "look HELD 7", "7"},
	} {
		r := newRules()
		if c.before != "" {
			play(t, r, 0, c.before)
		}
		if said := play(t, r, 0, c.look); said != c.want {
			t.Errorf("%s, then %s: said %q instead of %q", c.before, c.look, said, c.want)
		}
	}
}

func TestStoriesOfLeaders(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"a change of hands":              {"STARTED 0|look HELD 7|RELEASED 7|OFFERED 8|GRANTED 8", "look 7 0 8"},
		"in line":                        {"look HELD 7|OFFERED 8|GRANTED 8|RELEASED 7|EXTENDED 8", "7 0 8"},
		"everything comes twice":         {"look HELD 7|RELEASED 7|RELEASED 7|GRANTED 8|GRANTED 8|RELEASED 8|RELEASED 8", "7 0 8 0"},
		"the end comes before":           {"look HELD 7|RELEASED 8|GRANTED 8", "7 0"},
		"the next grant comes first":     {"look HELD 7|GRANTED 9|RELEASED 7|GRANTED 8|RELEASED 8|RELEASED 9", "7 9 0"},
		"an offer lapses":                {"look HELD 7|OFFERED 8|OFFERED 9|GRANTED 8|GRANTED 9", "7 0 9"},
		"by force":                       {"look HELD 7|FORCED 8|GRANTED 8|LOST 7|GRANTED 9", "7 0 9"},
		"a lost lease may be the next":   {"look HELD 7|LOST 7|look HELD 8", "7 look 8"},
		"a made up token counts not":     {"look HELD 7|LOST 999|look HELD 7|RELEASED 7", "7 look 0"},
		"a grant that was missed":        {"look HELD 7|EXTENDED 8|RELEASED 7|look HELD 8", "7 look look 8"},
		"an extend after the end":        {"look HELD 7|RELEASED 7|EXTENDED 7|GRANTED 7", "7 0 look look"},
		"an end during the look":         {"GRANTED 7|send look|RELEASED 7|look HELD 7|look ENDED 7", "7 0 look"},
		"an end twice during the look":   {"GRANTED 7|RELEASED 7|send look|RELEASED 7|look ENDED 7", "7 0"},
		"a grant during the look":        {"GRANTED 7|send look|GRANTED 8|look HELD 7|look HELD 8", "7 8 look"},
		"an offer during the look":       {"GRANTED 7|send look|OFFERED 8|look HELD 7|look OFFERED 8|GRANTED 8", "7 0 look 8"},
		"an extend during the look":      {"GRANTED 7|send look|EXTENDED 8|look HELD 7|look HELD 8", "7 look 8"},
		"a claim during the look":        {"OFFERED 7|send look|GRANTED 7|look OFFERED 7|look HELD 7", "0 7 look"},
		"a gap during the look":          {"GRANTED 7|send look|GAP 0|look HELD 7|look", "7 look 0"},
		"a loss during the look":         {"GRANTED 7|send look|LOST 7|look HELD 7|look ENDED 7", "7 look 0"},
		"old news during the look":       {"GRANTED 7|send look|RELEASED 6|GRANTED 6|EXTENDED 7|look ENDED 7", "7 0"},
		"no record, then old news":       {"GRANTED 7|look|GRANTED 7|GRANTED 8", "7 0 8"},
		"a forgotten one, then old news": {"GRANTED 7|look ENDED 6|GRANTED 7|GRANTED 8", "7 0 8"},
		"an ended record, then its end":  {"look ENDED 7|EXPIRED 7|GRANTED 7", "0"},
	} {
		r := newRules()
		if said := play(t, r, 0, strings.Split(c.script, "|")...); said != c.want {
			t.Errorf("%s: said %q instead of %q", name, said, c.want)
		}
	}
}

func TestALookIsDueAfterTheStartAndEveryTenSeconds(t *testing.T) {
	r := newRules()
	if r.mustLook(5*second-1) || !r.mustLook(5*second) {
		t.Error("the stream has 5 s to start")
	}
	if said := play(t, r, second, "STARTED 0"); said != "look" {
		t.Errorf("said %q", said)
	}
	r.look(second)
	if said := play(t, r, second, "GAP 0"); said != "" || r.nextLook() != never {
		t.Error("two looks at a time")
	}
	r.looked(2*second, lookOf("HELD", 7))
	r.look(second)
	r.looked(2*second, lookOf("HELD", 7))
	if r.mustLook(11*second-1) || !r.mustLook(11*second) {
		t.Error("the next look is not due 10 s after the one before")
	}
	r.look(11 * second)
	r.begin(12 * second)
	if r.mustLook(17*second-1) || !r.mustLook(17*second) || r.leader.Token != 7 {
		t.Error("another stream has 5 s to start, and the leader stays")
	}
}

func TestInAQuarantineTheLeaderStays(t *testing.T) {
	for _, state := range []string{"UNPROVEN", "ENDED", "OFFERED", ""} {
		r := newRules()
		play(t, r, 0, "GRANTED 7")
		r.look(0)
		if r.looked(second, inQuarantine(lookOf(state, 7), 3*time.Second)) || r.leader == nil {
			t.Errorf("%q changes the leader", state)
		}
		if r.mustLook(4*second-1) || !r.mustLook(4*second) {
			t.Errorf("%q: no look when the quarantine is over", state)
		}
		if said := play(t, r, 4*second, "look ENDED 7"); said != "0" {
			t.Errorf("%q: then said %q", state, said)
		}
	}
	r := newRules()
	r.look(0)
	if !r.looked(0, inQuarantine(lookOf("HELD", 7), time.Minute)) || r.mustLook(10*second-1) || !r.mustLook(10*second) {
		t.Error("a lease that was proved leads")
	}
	r.look(10 * second)
	if r.looked(10*second, inQuarantine(lookOf("", 0), time.Hour)) || !r.mustLook(20*second) {
		t.Error("a look every 10 s, however long the quarantine lasts")
	}
	r.look(20 * second)
	if r.looked(20*second, inQuarantine(lookOf("", 0), 0)) || r.mustLook(20*second) || !r.mustLook(21*second) {
		t.Error("not at once again")
	}
}

func TestWhoLeadsIsKnownOnce(t *testing.T) {
	r := newRules()
	r.look(0)
	if r.looked(0, inQuarantine(lookOf("", 0), time.Second)) || r.known {
		t.Error("nothing is known in a quarantine")
	}
	if said := play(t, r, 0, "look", "look", "RELEASED 7"); said != "0" {
		t.Errorf("said %q", said)
	}
}

func TestAGrantWithoutAnOwnerIsLookedUp(t *testing.T) {
	r := newRules()
	granted := eventOf("GRANTED", 7)
	granted.Owner = ""
	if r.event(0, granted) || !r.mustLook(0) {
		t.Error("it does not look")
	}
	known := lookOf("HELD", 7)
	known.Lock.Principal = "cn:me"
	r.look(0)
	if want := (Leader{7, "owner 7", "cn:me"}); !r.looked(0, known) || *r.leader != want {
		t.Errorf("%+v", r.leader)
	}
	if r.event(0, granted) || r.leader.Owner != "owner 7" {
		t.Error("what is known stays known")
	}
}
