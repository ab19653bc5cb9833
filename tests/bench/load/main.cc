// SPDX-License-Identifier: Apache-2.0
//
// Puts a load on a server and prints what it measures. `bench` starts it; to be called by hand too.
#include "bench/load/load.h"

int main(int argc, char** argv) {
  namespace bench = lockkeeper::bench;
  return bench::ProgramMain("bench_load", [&] {
    CLI::App app("Puts a load on a server, and prints what it measures");
    app.require_subcommand(1);
    for (const auto add : {bench::AddUnary, bench::AddEtcd, bench::AddSession, bench::AddHeld,
                           bench::AddSizes, bench::AddLine, bench::AddRedis, bench::AddFlood}) {
      add(app);
    }
    CLI11_PARSE(app, argc, argv);
    return 0;
  });
}
