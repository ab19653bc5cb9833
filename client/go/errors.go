// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"lockkeeper/client/go/internal/pb"
)

// Reason says why a call failed, as the service names it: see ErrorReason in proto/lockkeeper/v1/error_reason.proto. Switch on it, never
// on the text of an error. New ones may come; then go by the Code.
type Reason string

// The reasons that programs ask for most.
const (
	ReasonInvalidField        Reason = "INVALID_FIELD"
	ReasonLeaseLost           Reason = "LEASE_LOST"
	ReasonLeaseEnded          Reason = "LEASE_ENDED"
	ReasonStoreUnavailable    Reason = "STORE_UNAVAILABLE"
	ReasonOutcomeUnknown      Reason = "OUTCOME_UNKNOWN"
	ReasonStoreQuarantined    Reason = "STORE_QUARANTINED"
	ReasonServerDraining      Reason = "SERVER_DRAINING"
	ReasonWaiterLimit         Reason = "WAITER_LIMIT"
	ReasonLeaseLimit          Reason = "LEASE_LIMIT"
	ReasonRateLimit           Reason = "RATE_LIMIT"
	ReasonUnauthenticated     Reason = "UNAUTHENTICATED"
	ReasonPermissionDenied    Reason = "PERMISSION_DENIED"
	ReasonAuditUnavailable    Reason = "AUDIT_UNAVAILABLE"
	ReasonAssuranceNotReached Reason = "ASSURANCE_NOT_REACHED"
)

// Error is an error of the service, or of the way to it.
type Error struct {
	Code       codes.Code
	Reason     Reason        // "" if there is none
	Field      string        // that an INVALID_FIELD is about, such as "ttl"
	RetryDelay time.Duration // the least time before another try, if the service said so
	Message    string        // for people

	cause error // context.Canceled or context.DeadlineExceeded of the caller, or nil
}

func (e *Error) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("lockkeeper: %s: %s", e.Reason, e.Message)
	}
	return fmt.Sprintf("lockkeeper: %s: %s", e.Code, e.Message)
}

// Unwrap makes errors.Is(err, context.Canceled) true if the caller's context ended the call.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus is for google.golang.org/grpc/status.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// ReasonOf returns the reason of an error of this package, and "" if it has none.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	var lost *LostError
	if errors.As(err, &lost) {
		return ReasonLeaseLost
	}
	return ""
}

// ErrNotAcquired is what errors.Is finds in the error of an acquire whose lock is not free. NotAcquiredError says who has it.
var ErrNotAcquired = errors.New("lockkeeper: not acquired")

// ErrReleased is the cause with which Lease.Context ends when the lease is released or detached.
var ErrReleased = errors.New("lockkeeper: the lease was released")

// ErrClosed is the error of a call on a client that was closed.
var ErrClosed = errors.New("lockkeeper: the client is closed")

// ContentionReason says why a lock was not granted.
type ContentionReason string

const (
	Held         ContentionReason = "HELD"
	WaitTimedOut ContentionReason = "WAIT_TIMED_OUT"
	Cancelled    ContentionReason = "CANCELLED" // the lease id was released while it waited
	Closed       ContentionReason = "CLOSED"    // nobody holds it; it stays closed for a time after its last lease
)

// NotAcquiredError says that the lock is not free. It is an expected outcome. errors.Is(err, ErrNotAcquired) finds it.
type NotAcquiredError struct {
	Name        string
	Reason      ContentionReason
	HolderOwner string        // "" if it gave none
	Remaining   time.Duration // until the lock can become free by itself
	Position    int           // in line when the wait ended; 0: none
	Waiters     int
}

func (e *NotAcquiredError) Error() string {
	by := ""
	if e.HolderOwner != "" {
		by = fmt.Sprintf(" by `%s`", e.HolderOwner)
	}
	switch e.Reason {
	case WaitTimedOut:
		if by != "" {
			return fmt.Sprintf("lockkeeper: `%s` is still held%s at the end of the wait", e.Name, by)
		}
		return fmt.Sprintf("lockkeeper: `%s` did not become free in time", e.Name)
	case Cancelled:
		return fmt.Sprintf("lockkeeper: `%s` was not acquired: its lease id was released while it waited", e.Name)
	case Closed:
		return fmt.Sprintf("lockkeeper: nobody holds `%s`, but it is closed after its last lease", e.Name)
	}
	return fmt.Sprintf("lockkeeper: `%s` is held%s", e.Name, by)
}

// Is makes errors.Is(err, ErrNotAcquired) true.
func (e *NotAcquiredError) Is(target error) bool { return target == ErrNotAcquired }

// Cause says why a lease is lost.
type Cause string

const (
	LeaseLost      Cause = "LEASE_LOST"      // the service said that it has ended
	RenewalsFailed Cause = "RENEWALS_FAILED" // its end came near, and the renewals had failed
	MaxHold        Cause = "MAX_HOLD"        // it reached its max hold
	Paused         Cause = "PAUSED"          // its end came near, and no renewal had been sent: this process was paused
)

// LostError says that a lease is lost.
type LostError struct {
	Name  string
	Cause Cause
	Last  error // of the last renewal, for LeaseLost and RenewalsFailed; may be nil
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("lockkeeper: the lease of `%s` is lost: %s", e.Name, e.Cause)
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text
}

// Unwrap returns the error of the last renewal.
func (e *LostError) Unwrap() error { return e.Last }

func invalid(field, problem string) *Error {
	return &Error{Code: codes.InvalidArgument, Reason: ReasonInvalidField, Field: field, Message: field + ": " + problem}
}

func unavailable(reason Reason, message string) *Error {
	return &Error{Code: codes.Unavailable, Reason: reason, Message: message}
}

// mayPass tells whether another try can succeed.
func (e *Error) mayPass() bool {
	return e.noAnswer() || e.Reason == ReasonRateLimit
}

func (e *Error) noAnswer() bool {
	return e.Code == codes.Unavailable || e.Code == codes.DeadlineExceeded
}

// leftNothing tells whether an acquire that ended so has neither a grant nor a place in line. A daemon that drains leaves a waiter in its
// place, for a retry at another daemon.
func (e *Error) leftNothing() bool {
	switch e.Reason {
	case ReasonInvalidField, ReasonLeaseEnded, ReasonStoreUnavailable, ReasonStoreQuarantined, ReasonWaiterLimit, ReasonLeaseLimit,
		ReasonRateLimit, ReasonUnauthenticated, ReasonPermissionDenied, ReasonAuditUnavailable, ReasonAssuranceNotReached:
		return true
	case "":
		return e.Code == codes.InvalidArgument
	}
	return false
}

// contextError is the error of a call that ctx ended.
func contextError(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: codes.DeadlineExceeded, Message: "no answer came in time", cause: ctx.Err()}
	}
	return &Error{Code: codes.Canceled, Message: "cancelled by the caller", cause: ctx.Err()}
}

// errorOfCall reads the error of a call to address that the caller did not cancel.
func errorOfCall(err error, address string) *Error {
	s, _ := status.FromError(err)
	e := &Error{Code: s.Code(), Message: s.Message()}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.Domain == "lockkeeper" {
				e.Reason = Reason(d.Reason)
			}
		case *errdetails.BadRequest:
			if len(d.FieldViolations) > 0 {
				e.Field = d.FieldViolations[0].Field
			}
		case *errdetails.RetryInfo:
			e.RetryDelay = durationOf(d.RetryDelay)
		}
	}
	if e.Reason != "" {
		return e
	}
	switch e.Code {
	case codes.Canceled: // gRPC says so when a server ends
		return unavailable("", address+" cut the call off: "+e.Message)
	case codes.Unimplemented:
		return unavailable("", "the server at "+address+" is not lockkeeperd, or is an old version: "+e.Message)
	case codes.Unavailable:
		e.Message = "cannot reach " + address + ": " + e.Message
	case codes.DeadlineExceeded:
		e.Message = address + " does not answer"
	}
	return e
}

// errorOfOperation reads the error of an operation of a session.
func errorOfOperation(o *pb.OperationError) *Error {
	e := &Error{
		Code: codes.Code(o.Code), Message: o.Message, Field: o.Metadata["field"], RetryDelay: durationOf(o.RetryDelay),
	}
	if o.Reason != pb.ErrorReason_ERROR_REASON_UNSPECIFIED {
		e.Reason = Reason(strings.TrimPrefix(o.Reason.String(), "ERROR_REASON_"))
	}
	switch {
	case e.Code == codes.Canceled:
		return unavailable("", "the operation was cut off: "+e.Message)
	case e.Code == codes.OK || e.Code > codes.Unauthenticated:
		e.Code = codes.Unknown
	}
	return e
}
