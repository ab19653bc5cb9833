// SPDX-License-Identifier: Apache-2.0

// Command nightly_job: a job is due at midnight on three replicas, whose clocks differ. It takes
// 50 ms, and has to run once.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	lockkeeper "lockkeeper/client/go"
)

// run tells whether this replica has run the job.
func run(replica, job string, holdAtLeast time.Duration) bool {
	options := lockkeeper.Options{Owner: replica}
	if server := os.Getenv("LOCKKEEPER_SERVER"); server != "" {
		options.Servers = []string{server} // default: 127.0.0.1:7600
	}
	client, err := lockkeeper.New(options)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// One lock for each job and date. The pid lets you run the story twice in a row.
	name := fmt.Sprintf("%s/2026-11-24/%d", job, os.Getpid())
	how := lockkeeper.AcquireOptions{TTL: 10 * time.Second, HoldAtLeast: holdAtLeast}
	err = client.With(context.Background(), name, how,
		func(context.Context, *lockkeeper.Lease) error {
			time.Sleep(50 * time.Millisecond) // the job
			return nil
		})
	if errors.Is(err, lockkeeper.ErrNotAcquired) {
		fmt.Printf("%s: leaves it to another one\n", replica)
		return false
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: has run the job\n", replica)
	return true
}

func midnight(job string, holdAtLeast time.Duration) {
	runs := 0
	for _, replica := range []string{"replica 1", "replica 2", "replica 3"} {
		time.Sleep(200 * time.Millisecond) // its clock strikes later than the one before
		if run(replica, job, holdAtLeast) {
			runs++
		}
	}
	fmt.Printf("Runs of the job: %d\n", runs)
}

func main() {
	fmt.Println("With a lock alone, which is free again when the next clock strikes:")
	midnight("report", 0)
	fmt.Println("\nWith a lock that stays closed for a minute after its grant:")
	midnight("closing report", time.Minute)
}
