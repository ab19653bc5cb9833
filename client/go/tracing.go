// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"

	"google.golang.org/grpc/metadata"

	"lockkeeper/client/go/internal/pb"
)

// Longer ones mean nothing to the server, and would take the place of operations in a message.
const (
	traceparentMax = 64
	tracestateMax  = 512
)

// operationOf makes an operation that carries the trace context of its caller, however often and in whatever way it is sent.
func (c *Client) operationOf(ctx context.Context, request *pb.SessionOperation) *operation {
	if c.options.TraceContext != nil {
		parent, state := c.options.TraceContext(ctx)
		if isHeader(parent, traceparentMax) {
			request.Traceparent = parent
			if isHeader(state, tracestateMax) {
				request.Tracestate = state
			}
		}
	}
	return newOperation(request)
}

// isHeader tells whether the text can be sent: anything but printable ASCII would end the call, or the session with all its operations.
func isHeader(text string, longest int) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= longest
}

// withTrace puts the trace context of the operation into the metadata of a unary call.
func withTrace(ctx context.Context, o *pb.SessionOperation) context.Context {
	if o.Traceparent == "" {
		return ctx
	}
	headers, _ := metadata.FromOutgoingContext(ctx)
	headers = metadata.Join(headers) // never nil
	// In place of those that ctx may have: two would count as none.
	headers.Set("traceparent", o.Traceparent)
	headers.Delete("tracestate")
	if o.Tracestate != "" {
		headers.Set("tracestate", o.Tracestate)
	}
	return metadata.NewOutgoingContext(ctx, headers)
}
