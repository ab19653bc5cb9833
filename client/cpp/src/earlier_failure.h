// SPDX-License-Identifier: Apache-2.0
//
// Why the attempts of one operation failed, for its last error: the last attempt has little time
// left, so that "no answer came in time" would hide what all the others were told.
#pragma once

#include "absl/status/status.h"

namespace lockkeeper::client {

// Thread-safety: thread-compatible.
class EarlierFailure {
 public:
  // Remembers the error of an attempt, unless it says nothing of the cause. OK forgets the others.
  void Note(const absl::Status& status);

  // Adds what is remembered to the message of `end`, if that is a missing answer. Code and reason
  // stay: they say that the outcome of the last attempt is not known.
  absl::Status Explain(const absl::Status& end) const;

 private:
  absl::Status cause_;  // OK if there is none.
};

}  // namespace lockkeeper::client
