// SPDX-License-Identifier: Apache-2.0

//go:build go1.20

package lockkeeper

import "context"

// withCause is context.WithCancelCause, which go 1.19 does not have.
func withCause(parent context.Context) (context.Context, func(error)) {
	return context.WithCancelCause(parent)
}
