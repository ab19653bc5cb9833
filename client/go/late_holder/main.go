// SPDX-License-Identifier: Apache-2.0

// Command late_holder is a holder that is stopped by SIGSTOP, as client/fenced/tests/late_holder.py of the repository wants it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	lockkeeper "lockkeeper/client/go"
)

// update tells whether the row took the update.
func update(setting string, token int64) bool {
	command := fmt.Sprintf("update seat set %s where id = 12 and fencing_token <= %d returning id", setting, token)
	said, err := exec.Command("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command).Output()
	if err != nil {
		log.Fatal(err)
	}
	return len(said) > 0
}

func main() {
	client, err := lockkeeper.New(lockkeeper.Options{Servers: []string{os.Getenv("LOCKKEEPER_SERVER")}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lease, err := client.Acquire(context.Background(), "seat", lockkeeper.AcquireOptions{TTL: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	token, lines := lease.Token(), bufio.NewScanner(os.Stdin)
	update(fmt.Sprintf("fencing_token = %d", token), token)
	fmt.Println("holds")

	lines.Scan()
	if lease.Held() {
		fmt.Println("held")
	} else {
		fmt.Println("lost")
	}

	lines.Scan()
	if update(fmt.Sprintf("guest = 'first', fencing_token = %d", token), token) {
		fmt.Println("written")
	} else {
		fmt.Println("refused")
	}
}
