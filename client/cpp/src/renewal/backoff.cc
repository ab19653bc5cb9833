// SPDX-License-Identifier: Apache-2.0
#include "renewal/backoff.h"

#include <algorithm>

namespace lockkeeper::client {

Duration BackoffDelay(int failures, Duration max, double jitter) {
  Duration delay = kBackoffFirst;
  for (int i = 1; i < failures && delay < max; ++i) delay *= 2;
  delay = std::min(delay, max);
  return delay / 2 +
         Duration(static_cast<Duration::rep>(static_cast<double>(delay.count()) / 2 * jitter));
}

}  // namespace lockkeeper::client
