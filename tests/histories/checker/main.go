// SPDX-License-Identifier: Apache-2.0

// check [--counts] [--html FILE] [--limit DURATION] HISTORY...: whether what clients of real processes were answered can be right.
// One history may be spread over several files. Exit codes: 0 it can, 1 it cannot, 2 not known, 64 wrong use.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

func printCounts(h *history) {
	counts := map[string]int{}
	for _, o := range h.operations {
		counts[o.Kind+" "+o.Outcome+" "+o.Reason]++
	}
	var kinds []string
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	for _, kind := range kinds {
		fmt.Printf("%8d %s\n", counts[kind], kind)
	}
}

func main() {
	html := flag.String("html", "", "gets a picture of the first contradiction")
	counts := flag.Bool("counts", false, "tells how many operations had which outcome")
	limit := flag.Duration("limit", 2*time.Minute, "the longest time for one lock")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(64)
	}
	h, err := readHistory(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(64)
	}
	if *counts {
		printCounts(h)
	}
	v := check(h, *limit, *html)
	fmt.Print(v.text)
	fmt.Printf("%s: %d operations, %d of them judged, %d of unknown outcome, %d granted; %d locks, %d faults\n",
		map[porcupine.CheckResult]string{porcupine.Ok: "accepted", porcupine.Illegal: "REFUSED", porcupine.Unknown: "NOT DECIDED"}[v.result],
		len(h.operations), v.operations, v.unknown, v.grants, v.locks, len(h.faults))
	switch v.result {
	case porcupine.Illegal:
		os.Exit(1)
	case porcupine.Unknown:
		os.Exit(2)
	}
}
