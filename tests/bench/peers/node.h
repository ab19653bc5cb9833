// SPDX-License-Identifier: Apache-2.0
//
// The libraries for Node.js, as `./dev bench` installs them in build/deps.
#pragma once

#include <string>

#include "bench/peers/peer.h"

namespace lockkeeper::bench {

// The folder with our programs for them and their node_modules.
std::string NodeFolder();

// `package` is needed besides ioredis. Its versions are those of Node.js, ioredis and it.
Peer NodePeer(const std::string& package);

}  // namespace lockkeeper::bench
