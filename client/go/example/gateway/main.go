// SPDX-License-Identifier: Apache-2.0

// Command gateway says to whom it would send requests, until its standard input ends:
//
//	gateway SERVER
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	lockkeeper "lockkeeper/client/go"
)

// route is told each change. Requests carry the term: a leader that was paused, and is none any
// more, is told by it, since what we know here is always a little late.
func route(leader *lockkeeper.Leader) {
	if leader == nil {
		fmt.Println("nobody leads")
		return
	}
	fmt.Printf("routes to %s, term %d\n", leader.Owner, leader.Token)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gateway SERVER")
		os.Exit(64)
	}
	client, err := lockkeeper.New(lockkeeper.Options{Servers: []string{os.Args[1]}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Errors go to the standard logger; whatever they are, the observer goes on.
	options := lockkeeper.ObserveOptions{OnChange: route}
	if _, err := client.Observe(context.Background(), "examples/leader", options); err != nil {
		log.Print(err)
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}
