// SPDX-License-Identifier: Apache-2.0
//
// Many call loops together: how many, for how long, and what is printed of them.
#pragma once

#include <grpcpp/channel.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

// How long a load was counted, and what this process used meanwhile.
struct Counted {
  std::chrono::duration<double> elapsed;
  double cpu_seconds;
};

// Lets what is loading already warm up, counts for so many seconds, and waits until `ends` of its
// parts have ended. Errors: throws what a part has failed with.
Counted CountLoad(LoadControl& control, double seconds, size_t ends);

// Prints rpc_per_s, client_cpu_us_per_rpc, calls (`all_calls`: with those before and after), and
// the latencies of each kind of call.
void PrintLoad(const Counted& counted, LatenciesByCall& latencies, uint64_t all_calls);

using CallLoops = std::vector<std::unique_ptr<CallLoop>>;

// `make` gives the loop with this number, on the connection that it is told.
using MakeLoop = std::function<std::unique_ptr<CallLoop>(
    LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t number)>;

// Runs the loops, and prints what PrintLoad does. Errors: throws what a loop has failed with.
void RunClosedLoops(const LoadOptions& options, const MakeLoop& make);

}  // namespace lockkeeper::bench
