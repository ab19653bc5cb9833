// SPDX-License-Identifier: Apache-2.0
//
// Many call loops together: how many, for how long, and what is printed of them.
#pragma once

#include <grpcpp/channel.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/call_loop.h"

namespace lockkeeper::bench {

struct LoadOptions {
  std::string address;
  size_t connections = 1;
  size_t outstanding = 1;  // Of each connection.
  double seconds = 1;
};

// Makes them options of the command line.
void AddLoadOptions(CLI::App& app, LoadOptions& options);

// A channel that shares its connection with no other one.
std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& address);

using CallLoops = std::vector<std::unique_ptr<CallLoop>>;

// `make` gives the loop with this number, on the connection that it is told.
using MakeLoop = std::function<std::unique_ptr<CallLoop>(
    LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t number)>;

// Runs the loops, and prints rpc_per_s, client_cpu_us_per_rpc, calls (with those before and after
// the measured time), and the latencies of each kind of call.
// Errors: throws what a loop has failed with.
void RunClosedLoops(const LoadOptions& options, const MakeLoop& make);

}  // namespace lockkeeper::bench
