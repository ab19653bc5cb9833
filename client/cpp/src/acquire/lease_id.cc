// SPDX-License-Identifier: Apache-2.0
#include "acquire/lease_id.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace lockkeeper::client {

std::string NewLeaseId() {
  std::array<unsigned char, 16> bytes{};
  // Up to 256 bytes are never cut short once the kernel's source is ready; before it is, at boot,
  // the call waits and can be interrupted.
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  id.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

}  // namespace lockkeeper::client
