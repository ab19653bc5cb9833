// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"

	lockkeeper "lockkeeper/client/go"
)

func main() {
	client, err := lockkeeper.New(lockkeeper.Options{}) // the daemon of this machine, 127.0.0.1:7600
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.With(context.Background(), "report", lockkeeper.AcquireOptions{},
		func(ctx context.Context, lease *lockkeeper.Lease) error {
			fmt.Println("nobody else writes the report; fencing token", lease.Token())
			return nil
		})
	if err != nil {
		log.Fatal(err)
	}
}
