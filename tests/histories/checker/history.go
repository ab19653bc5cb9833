// SPDX-License-Identifier: Apache-2.0

// Reads histories: what clients asked and were answered, one JSON object a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

const forever = math.MaxInt64

// A record is one line of a history: the beginning of an operation, its end, or a fault.
type record struct {
	Client   string `json:"client"`
	Op       int    `json:"op"`
	Begin    int64  `json:"begin"` // CLOCK_BOOTTIME, ns
	End      int64  `json:"end"`   // CLOCK_BOOTTIME, ns
	Kind     string `json:"kind"`  // acquire, extend, release, fence
	Lock     string `json:"lock"`
	Lease    string `json:"lease"` // lease id; the client gives it as its owner text too
	Attempt  int    `json:"attempt"`
	Live     bool   `json:"live"` // fence: the lease has to be live
	Session  bool   `json:"session"`
	Outcome  string `json:"outcome"`  // ok, fail, unknown
	Reason   string `json:"reason"`   // of a failure; the verdict of a fence
	Token    int64  `json:"token"`    // granted; asked for by a fence
	LeftUs   int64  `json:"left_us"`  // remaining ttl
	Holder   string `json:"holder"`   // HELD: the lease id of the holder
	Offered  bool   `json:"offered"`  // counts as a lease only once an extend has claimed it
	Expected string `json:"expected"` // test data: what the checker has to say
	Fault    string `json:"fault"`
	Forgets  bool   `json:"forgets"` // the fault may make the store forget what it has confirmed
}

// An operation that had no answer when the history ended has the outcome unknown and ends never.
type operation = record

type history struct {
	operations []*operation
	faults     []*record
	expected   string
	forgotten  int64 // the first fault that makes the store forget
}

func readHistory(paths []string) (*history, error) {
	h := &history{forgotten: forever}
	for _, path := range paths {
		if err := h.read(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return h, nil
}

func (h *history) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	begun := map[string]*operation{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		r := &record{}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			if !lines.Scan() {
				return nil // The client was killed while it wrote its last line.
			}
			return fmt.Errorf("line %d: %w", number, err)
		}
		key := fmt.Sprint(r.Client, " ", r.Op)
		switch {
		case r.Expected != "":
			h.expected = r.Expected
		case r.Fault != "":
			h.faults = append(h.faults, r)
			if r.Forgets && r.Begin < h.forgotten {
				h.forgotten = r.Begin
			}
		case r.Kind != "" && r.Outcome != "": // Both in one line, as people write them.
			h.operations = append(h.operations, r)
		case r.Kind != "":
			r.Outcome, r.End = "unknown", forever
			begun[key] = r
			h.operations = append(h.operations, r)
		default:
			o := begun[key]
			if o == nil {
				return fmt.Errorf("line %d: the end of an operation that did not begin", number)
			}
			o.End, o.Outcome, o.Reason = r.End, r.Outcome, r.Reason
			o.LeftUs, o.Holder, o.Offered = r.LeftUs, r.Holder, r.Offered
			if r.Token != 0 {
				o.Token = r.Token
			}
		}
	}
	return lines.Err()
}
