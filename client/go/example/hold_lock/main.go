// SPDX-License-Identifier: Apache-2.0

// Command hold_lock works under a lock, a second for each step:
//
//	hold_lock SERVER NAME STEPS [WAIT]
//
// It waits in line for at most WAIT seconds. See docs/guides/go.md. Exit codes: 0 done, 70 the
// lease was lost, 75 somebody else has the lock, 143 stopped by SIGTERM, 1 anything else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	lockkeeper "lockkeeper/client/go"
)

func work(
	ctx context.Context, client *lockkeeper.Client, lease *lockkeeper.Lease, steps int,
) error {
	fmt.Println("acquired with fencing token", lease.Token())
	for step := 1; step <= steps; step++ {
		fmt.Printf("step %d: %.1f s left\n", step, lease.Remaining().Seconds())
		select { // the work of this program: pass lease.Token() to what it writes
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	live := lockkeeper.FenceOptions{RequireLive: true}
	found, err := client.Fence(ctx, lease.Name(), lease.Token(), live)
	if err != nil {
		return err
	}
	fmt.Println("admitted:", found.Verdict == lockkeeper.Admitted)
	done, err := lease.Release(ctx)
	fmt.Println("released:", done.Released)
	return err
}

func run(server, name string, steps, wait int) error {
	client, err := lockkeeper.New(lockkeeper.Options{Servers: []string{server}})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options := lockkeeper.AcquireOptions{
		TTL: 10 * time.Second, Wait: time.Duration(wait) * time.Second,
	}
	job := func(ctx context.Context, lease *lockkeeper.Lease) error {
		err := work(ctx, client, lease, steps)
		if cause := lease.Err(); errors.As(cause, new(*lockkeeper.LostError)) {
			return cause
		}
		return err
	}
	err = client.With(ctx, name, options, job)
	if errors.As(err, new(*lockkeeper.LostError)) {
		fmt.Println("lost")
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func main() {
	number := func(place int) int {
		if place >= len(os.Args) {
			return 0
		}
		n, err := strconv.Atoi(os.Args[place])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(64)
		}
		return n
	}
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: hold_lock SERVER NAME STEPS [WAIT]")
		os.Exit(64)
	}
	err := run(os.Args[1], os.Args[2], number(3), number(4))
	var not *lockkeeper.NotAcquiredError
	switch {
	case err == nil:
	case errors.As(err, &not):
		fmt.Printf("held by '%s'\n", not.HolderOwner)
		os.Exit(75)
	case errors.As(err, new(*lockkeeper.LostError)):
		os.Exit(70)
	case errors.Is(err, context.Canceled):
		os.Exit(143)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
