// SPDX-License-Identifier: Apache-2.0
//
// Puts a load on a server and prints what it measures. `bench` starts it; to be called by hand too.
#include "bench/load/load.h"

int main(int argc, char** argv) {
  CLI::App app("Puts a load on a server, and prints what it measures");
  app.require_subcommand(1);
  using namespace lockkeeper::bench;
  for (const auto add :
       {AddUnary, AddEtcd, AddSession, AddHeld, AddSizes, AddLine, AddRedis, AddFlood}) {
    add(app);
  }
  return ProgramMain("bench_load", [&] {
    CLI11_PARSE(app, argc, argv);
    return 0;
  });
}
