// SPDX-License-Identifier: Apache-2.0
//
// gateway ADDRESS: says to whom it would send requests, until its standard input ends.
#include <lockkeeper/client.h>

#include <iostream>
#include <limits>
#include <optional>

namespace {

// Requests carry the term. A leader that was paused, and is none any more, is told by it: what we
// know here is always a little late.
void Route(const std::optional<lockkeeper::Leader>& leader) {
  if (leader) {
    std::cout << "routes to " << leader->owner << ", term " << leader->fencing_token << "\n";
  } else {
    std::cout << "nobody leads\n";
  }
  std::cout.flush();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: gateway ADDRESS\n";
    return 64;
  }
  auto client = lockkeeper::Client::Create({.addresses = {argv[1]}});
  if (!client.ok()) {
    std::cerr << client.status().message() << "\n";
    return 1;
  }
  // Errors go to stderr; whatever they are, the observer goes on.
  const auto observer = client->Observe("examples/leader", {.on_change = Route});
  if (!observer.ok()) {
    std::cerr << observer.status().message() << "\n";
    return 1;
  }
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  return 0;
}
