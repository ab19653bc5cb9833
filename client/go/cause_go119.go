// SPDX-License-Identifier: Apache-2.0

//go:build !go1.20

package lockkeeper

import "context"

// withCause drops the cause, which go 1.19 cannot tell; Lease.Err can.
func withCause(parent context.Context) (context.Context, func(error)) {
	ctx, cancel := context.WithCancel(parent)
	return ctx, func(error) { cancel() }
}
