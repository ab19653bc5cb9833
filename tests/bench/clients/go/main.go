// SPDX-License-Identifier: Apache-2.0

// Command bench SIDE SERVER REDIS_PORT makes cycles of locks by the Go client (`ours`) or by redsync on go-redis, as README.md beside
// run.py says.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	lockkeeper "lockkeeper/client/go"
)

const (
	ttl       = 30 * time.Second
	namesEach = 4
	warmUp    = 300 * time.Millisecond
)

// locks is one of the two sides.
type locks struct {
	modules []string
	acquire func(name string) (any, error)
	release func(lease any) error
}

func ours(server string) locks {
	client, err := lockkeeper.New(lockkeeper.Options{Servers: []string{server}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	return locks{
		modules: []string{"google.golang.org/grpc"},
		acquire: func(name string) (any, error) {
			return client.Acquire(ctx, name, lockkeeper.AcquireOptions{TTL: ttl})
		},
		release: func(lease any) error {
			_, err := lease.(*lockkeeper.Lease).Release(ctx)
			return err
		},
	}
}

func theirs(port string) locks {
	pool := goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port}))
	mutexes := redsync.New(pool)
	return locks{
		modules: []string{"github.com/go-redsync/redsync/v4", "github.com/redis/go-redis/v9"},
		acquire: func(name string) (any, error) {
			mutex := mutexes.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(1))
			return mutex, mutex.Lock()
		},
		release: func(mutex any) error {
			_, err := mutex.(*redsync.Mutex).Unlock()
			return err
		},
	}
}

// versions are those of Go and of the modules.
func versions(modules []string) []string {
	said := []string{"Go " + strings.TrimPrefix(runtime.Version(), "go")}
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		for _, wanted := range modules {
			if module.Path == wanted {
				said = append(said, module.Path+" "+module.Version)
			}
		}
	}
	return said
}

// cyclesPerSecond has as many goroutines at work as depth says.
func cyclesPerSecond(l locks, depth int, seconds float64) float64 {
	begin := time.Now().Add(warmUp)
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	var cycles atomic.Int64
	var all sync.WaitGroup
	for number := 0; number < depth; number++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			for turn, counted := 0, int64(0); ; turn++ {
				lease, err := l.acquire(fmt.Sprintf("bench/%d/%d", number, turn%namesEach))
				if err == nil {
					err = l.release(lease)
				}
				if err != nil {
					log.Fatal(err)
				}
				now := time.Now()
				if now.After(end) {
					cycles.Add(counted)
					return
				}
				if !now.Before(begin) {
					counted++
				}
			}
		}(number)
	}
	all.Wait()
	return float64(cycles.Load()) / seconds
}

func hold(l locks, count int) []any {
	leases := make([]any, count)
	next := make(chan int)
	var all sync.WaitGroup
	for i := 0; i < 64; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range next {
				lease, err := l.acquire(fmt.Sprintf("held/%d", number))
				if err != nil {
					log.Fatal(err)
				}
				leases[number] = lease
			}
		}()
	}
	for number := range leases {
		next <- number
	}
	close(next)
	all.Wait()
	return leases
}

func main() {
	side, server, port := os.Args[1], os.Args[2], os.Args[3]
	var l locks
	if side == "ours" {
		l = ours(server)
	} else {
		l = theirs(port)
	}
	var leases []any
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			ID      int     `json:"id"`
			Do      string  `json:"do"`
			Depth   int     `json:"depth"`
			Seconds float64 `json:"seconds"`
			Leases  int     `json:"leases"`
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			log.Fatal(err)
		}
		ok := map[string]any{}
		switch request.Do {
		case "versions":
			ok["versions"] = versions(l.modules)
		case "cycles":
			ok["perSecond"] = cyclesPerSecond(l, request.Depth, request.Seconds)
		case "hold":
			leases = hold(l, request.Leases)
		case "held":
			held := 0
			for _, lease := range leases {
				if lease.(*lockkeeper.Lease).Held() {
					held++
				}
			}
			ok["held"] = held
		default:
			log.Fatalf("asked for %q", request.Do)
		}
		line, err := json.Marshal(map[string]any{"id": request.ID, "ok": ok})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
}
