// SPDX-License-Identifier: Apache-2.0

// Command digest_mail: a queue delivers a job at least once, here to three workers. One digest mail
// has to go out.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	lockkeeper "lockkeeper/client/go"
)

// database is what a real one would remember.
type database struct {
	sync.Mutex
	mails int
}

func (d *database) sent() int {
	d.Lock()
	defer d.Unlock()
	return d.mails
}

func (d *database) sendDigest(worker string) {
	time.Sleep(10 * time.Millisecond) // looks into the database
	if d.sent() > 0 {
		fmt.Printf("%s: the digest for ada was sent before\n", worker)
		return
	}
	time.Sleep(200 * time.Millisecond) // writes and sends the mail
	d.Lock()
	d.mails++
	d.Unlock()
	fmt.Printf("%s: sends the digest to ada\n", worker)
}

// sendDigestUnderLock: each worker would be a process, with a client of its own.
func (d *database) sendDigestUnderLock(worker string) {
	options := lockkeeper.Options{Owner: worker}
	if server := os.Getenv("LOCKKEEPER_SERVER"); server != "" {
		options.Servers = []string{server} // default: 127.0.0.1:7600
	}
	client, err := lockkeeper.New(options)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	how := lockkeeper.AcquireOptions{TTL: 10 * time.Second, Wait: 30 * time.Second}
	err = client.With(context.Background(), "digest/ada", how,
		func(_ context.Context, lease *lockkeeper.Lease) error {
			fmt.Printf("%s: has the lock, with fencing token %d\n", worker, lease.Token())
			d.sendDigest(worker)
			return nil
		})
	if err != nil {
		log.Fatal(err)
	}
}

func threeWorkers(work func(*database, string)) {
	var d database
	var workers sync.WaitGroup
	for _, worker := range []string{"worker 1", "worker 2", "worker 3"} {
		workers.Add(1)
		go func(worker string) {
			defer workers.Done()
			work(&d, worker)
		}(worker)
	}
	workers.Wait()
	fmt.Printf("Mails that Ada has: %d\n", d.sent())
}

func main() {
	fmt.Println("Without a lock:")
	threeWorkers((*database).sendDigest)
	fmt.Println("\nWith a lock:")
	threeWorkers((*database).sendDigestUnderLock)
}
