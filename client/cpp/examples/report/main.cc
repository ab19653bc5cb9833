// SPDX-License-Identifier: Apache-2.0
#include <lockkeeper/client.h>

#include <iostream>

int main() {
  auto client = lockkeeper::Client::Create({});  // The daemon of this machine, 127.0.0.1:7600.
  if (!client.ok()) return 1;
  const absl::Status done = client->WithLock("report", {}, [](lockkeeper::Lease& lease) {
    std::cout << "nobody else writes the report; fencing token " << lease.fencing_token() << "\n";
    return absl::OkStatus();
  });
  if (!done.ok()) std::cerr << done.message() << "\n";
  return done.ok() ? 0 : 1;
}
