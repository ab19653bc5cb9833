// SPDX-License-Identifier: Apache-2.0
//
// history_client HISTORY NAME SEED ACTORS LOCKS ROUND_MS BEGAN_NS ADDRESS...: actors that work at
// these daemons until SIGTERM, and write what they ask and are answered into the file HISTORY.
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "histories/actor.h"
#include "histories/journal.h"

namespace {

volatile std::sig_atomic_t stopping = 0;

int Main(const std::vector<std::string>& arguments) {
  using namespace lockkeeper;
  histories::Journal journal(arguments[0]);
  support::Random random(std::stoull(arguments[2]));
  std::vector<std::thread> threads;
  for (int i = 0; i < std::stoi(arguments[3]); ++i) {
    histories::ActorOptions options{.name = arguments[1] + "." + std::to_string(i),
                                    .daemons = {arguments.begin() + 7, arguments.end()},
                                    .locks = std::stoi(arguments[4]),
                                    .round = std::chrono::milliseconds(std::stoll(arguments[5])),
                                    .began = std::stoll(arguments[6]),
                                    .seed = random.Bits()};
    threads.emplace_back([options, &journal] {
      histories::Actor actor(options, journal);
      while (stopping == 0) actor.Cycle();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) return 64;
  std::signal(SIGTERM, [](int) { stopping = 1; });
  return Main({argv + 1, argv + argc});
}
