// SPDX-License-Identifier: Apache-2.0

// Package work is what a program of docs/guides/coming_from does under its lock. It waits as python/work.py says.
package work

import (
	"context"
	"fmt"
	"os"
	"time"
)

// WriteReport writes the report; with a token if it is not 0.
func WriteReport(ctx context.Context, token int64) error {
	if folder := os.Getenv("WORK_FOLDER"); folder != "" {
		if err := os.WriteFile(folder+"/begun", nil, 0o600); err != nil {
			return err
		}
		for mayEnd := false; !mayEnd; {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			_, err := os.Stat(folder + "/may_end")
			mayEnd = err == nil
			time.Sleep(10 * time.Millisecond)
		}
	}
	if token == 0 {
		fmt.Println("wrote the report")
	} else {
		fmt.Println("wrote the report with token", token)
	}
	return nil
}
