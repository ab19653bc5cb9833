// SPDX-License-Identifier: Apache-2.0
#include "contract/store_world.h"

#include "contract/memory_world.h"
#include "contract/redis/parted_world.h"
#include "contract/redis/redis_world.h"

namespace lockkeeper::support {

std::vector<WorldKind> WorldKinds() {
  std::vector<WorldKind> kinds = RedisWorldKinds();
  kinds.push_back({"Parted", [] { return MakePartedWorld(); }});
  kinds.push_back({"Memory", [] { return MakeMemoryWorld(); }});
  return kinds;
}

}  // namespace lockkeeper::support
