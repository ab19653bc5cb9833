// SPDX-License-Identifier: Apache-2.0
//
// A stream of the rpc Session by gRPC.
#pragma once

#include <memory>

#include "transport/channels.h"
#include "transport/session_stream.h"

namespace lockkeeper::client {

// A stream that has not begun. It keeps `events` until it has ended, and itself too.
// Lifetime: borrows `stub` until OnEnded.
std::shared_ptr<SessionStream> NewSessionStream(Channels::Stub& stub,
                                                std::shared_ptr<SessionEvents> events);

}  // namespace lockkeeper::client
