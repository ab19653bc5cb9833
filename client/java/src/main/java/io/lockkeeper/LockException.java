// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.lockkeeper.v1.ErrorReason;
import io.lockkeeper.v1.OperationError;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** An error of the service, or of the way to it. Switch on its reason, never on its text. */
public class LockException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Status.Code code;
  private final String reason;
  private final String field;
  private final Duration retryDelay;

  LockException(Status.Code code, String reason, String field, Duration retryDelay, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.reason = reason;
    this.field = field;
    this.retryDelay = retryDelay;
  }

  LockException(Status.Code code, String reason, String message) {
    this(code, reason, "", Duration.ZERO, message, null);
  }

  /** gRPC's code. */
  public Status.Code code() {
    return code;
  }

  /** Why, as the service names it, such as "STORE_UNAVAILABLE": see ErrorReason in the protos. Empty if there is none. */
  public String reason() {
    return reason;
  }

  /** The field that an INVALID_FIELD is about, such as "ttl". Empty if there is none. */
  public String field() {
    return field;
  }

  /** The least time before another try, if the service said so. */
  public Duration retryDelay() {
    return retryDelay;
  }

  static LockException invalid(String field, String problem) {
    return new LockException(
        Status.Code.INVALID_ARGUMENT, "INVALID_FIELD", field, Duration.ZERO, field + ": " + problem, null);
  }

  static LockException unavailable(String reason, String message) {
    return new LockException(Status.Code.UNAVAILABLE, reason, message);
  }

  static LockException late() {
    return new LockException(Status.Code.DEADLINE_EXCEEDED, "", "no answer came in time");
  }

  static LockException internal(String message) {
    return new LockException(Status.Code.INTERNAL, "", message);
  }

  static LockException closed() {
    return new LockException(Status.Code.CANCELLED, "", "the client is closed");
  }

  boolean isNoAnswer() {
    return code == Status.Code.UNAVAILABLE || code == Status.Code.DEADLINE_EXCEEDED;
  }

  /** Whether another try can succeed. */
  boolean mayPass() {
    return isNoAnswer() || reason.equals("RATE_LIMIT");
  }

  boolean isLeaseLost() {
    return code == Status.Code.FAILED_PRECONDITION && reason.equals("LEASE_LOST");
  }

  /**
   * Whether an acquire that ended so has neither a grant nor a place in line. A daemon that drains leaves a waiter in its place, for a retry
   * at another daemon.
   */
  boolean leftNothing() {
    return switch (reason) {
      case "INVALID_FIELD", "LEASE_ENDED", "STORE_UNAVAILABLE", "STORE_QUARANTINED", "WAITER_LIMIT", "LEASE_LIMIT", "RATE_LIMIT",
          "UNAUTHENTICATED", "PERMISSION_DENIED", "AUDIT_UNAVAILABLE", "ASSURANCE_NOT_REACHED" -> true;
      case "" -> code == Status.Code.INVALID_ARGUMENT;
      default -> false;
    };
  }

  /** Reads the error of a call to this address that the caller did not cancel. */
  static LockException ofCall(Throwable error, String address) {
    final Status status = Status.fromThrowable(error);
    final String said = status.getDescription() == null ? "" : status.getDescription();
    String reason = "";
    String field = "";
    Duration delay = Duration.ZERO;
    final com.google.rpc.Status details = StatusProto.fromThrowable(error);
    if (details != null) {
      try {
        for (Any detail : details.getDetailsList()) {
          if (detail.is(ErrorInfo.class) && detail.unpack(ErrorInfo.class).getDomain().equals("lockkeeper")) {
            reason = detail.unpack(ErrorInfo.class).getReason();
          } else if (detail.is(BadRequest.class) && detail.unpack(BadRequest.class).getFieldViolationsCount() > 0) {
            field = detail.unpack(BadRequest.class).getFieldViolations(0).getField();
          } else if (detail.is(RetryInfo.class)) {
            delay = Protos.duration(detail.unpack(RetryInfo.class).getRetryDelay());
          }
        }
      } catch (InvalidProtocolBufferException malformed) {
        reason = ""; // then the code has to do
      }
    }
    if (!reason.isEmpty()) return new LockException(status.getCode(), reason, field, delay, said, error);
    return switch (status.getCode()) {
      case CANCELLED -> // gRPC says so when a server ends
          new LockException(Status.Code.UNAVAILABLE, "", "", delay, address + " cut the call off: " + said, error);
      case UNIMPLEMENTED ->
          new LockException(
              Status.Code.UNAVAILABLE, "", "", delay,
              "the server at " + address + " is not lockkeeperd, or is an old version: " + said, error);
      case UNAVAILABLE ->
          new LockException(status.getCode(), "", "", delay, "cannot reach " + address + ": " + said, error);
      case DEADLINE_EXCEEDED -> new LockException(status.getCode(), "", "", delay, address + " does not answer", error);
      default -> new LockException(status.getCode(), "", field, delay, said, error);
    };
  }

  /** Reads the error of an operation of a session. */
  static LockException ofOperation(OperationError error) {
    Status.Code code = Status.fromCodeValue(error.getCode()).getCode();
    if (code == Status.Code.CANCELLED) return unavailable("", "the operation was cut off: " + error.getMessage());
    if (code == Status.Code.OK) code = Status.Code.UNKNOWN;
    return new LockException(
        code, reasonOf(error.getReason()), error.getMetadataOrDefault("field", ""), Protos.duration(error.getRetryDelay()),
        error.getMessage(), null);
  }

  /** Empty if there is none, or one that this version does not know. */
  static String reasonOf(ErrorReason reason) {
    return switch (reason) {
      case ERROR_REASON_UNSPECIFIED, UNRECOGNIZED -> "";
      default -> reason.name().substring("ERROR_REASON_".length());
    };
  }
}
