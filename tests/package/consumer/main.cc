// SPDX-License-Identifier: Apache-2.0
//
// Holds a lock of the service at argv[1] for as long as it takes to print the fencing token.
#include <lockkeeper/client.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  absl::StatusOr<lockkeeper::Client> client =
      lockkeeper::Client::Create({.addresses = {argv[1]}, .owner = "consumer"});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  const absl::Status done = client->WithLock("package-test", {}, [](lockkeeper::Lease& lease) {
    std::cout << "token " << lease.fencing_token() << "\n";
    return absl::OkStatus();
  });
  if (!done.ok()) std::cerr << done << "\n";
  return done.ok() ? 0 : 1;
}
