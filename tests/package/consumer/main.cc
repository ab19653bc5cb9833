// SPDX-License-Identifier: Apache-2.0
//
// Holds a lock of the service at argv[1] for as long as it takes to print the fencing token. The
// call is that of the first example in lockkeeper/client.h.
#include <lockkeeper/client.h>

#include <chrono>
#include <iostream>

namespace {

using namespace std::chrono_literals;

absl::Status WriteReport(int64_t fencing_token) {
  std::cout << "token " << fencing_token << "\n";
  return absl::OkStatus();
}

absl::Status Report(const char* address) {
  auto client = lockkeeper::Client::Create({.addresses = {address}});
  if (!client.ok()) return client.status();
  return client->WithLock("report", {.ttl = 10s}, [](lockkeeper::Lease& lease) {
    return WriteReport(lease.fencing_token());
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const absl::Status done = Report(argv[1]);
  if (!done.ok()) std::cerr << done << "\n";
  return done.ok() ? 0 : 1;
}
