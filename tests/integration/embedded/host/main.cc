// SPDX-License-Identifier: Apache-2.0
//
// embedded_store_host DIRECTORY: a process that runs the embedded store as the daemon does, to be
// killed by the tests. Writes the store's URL when it is up; SIGTERM stops it.
#include <csignal>
#include <iostream>

#include "embedded/embedded_store.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  sigprocmask(SIG_BLOCK, &terminate, nullptr);

  const auto store =
      lockkeeper::embedded::EmbeddedStore::Start({.data_directory = argv[1]}, nullptr);
  if (!store.ok()) {
    std::cerr << store.status().message() << '\n';
    return 69;
  }
  std::cout << (*store)->url() << '\n' << std::flush;
  int signal = 0;
  sigwait(&terminate, &signal);
  (*store)->Stop();
  return 0;
}
