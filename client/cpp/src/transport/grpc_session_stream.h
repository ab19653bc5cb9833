// SPDX-License-Identifier: Apache-2.0
//
// The stream of the rpc Session, over gRPC.
#pragma once

#include <memory>

#include "transport/channels.h"
#include "transport/session_stream.h"

namespace lockkeeper::client {

// A stream that has not begun. It owns itself and `events` until it has ended. Lifetime: borrows
// the stub of `daemon` until OnEnded.
std::shared_ptr<SessionStream> NewSessionStream(const Channels::Endpoint& daemon,
                                                std::shared_ptr<SessionEvents> events);

}  // namespace lockkeeper::client
