// SPDX-License-Identifier: Apache-2.0
#include "contract/redis/redis_world.h"

#include <algorithm>

#include "contract/redis/fake_world.h"
#include "contract/redis/real_world.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {

std::vector<WorldKind> RedisWorldKinds(Guarding guarding) {
  std::vector<WorldKind> kinds = {{"InProcess", [guarding] { return MakeFakeWorld(guarding); }}};
  for (const std::string& program : InstalledServers()) {
    std::string name = program;
    std::erase(name, '-');
    kinds.push_back({name, [program, guarding] { return MakeRealWorld(program, guarding); }});
  }
  return kinds;
}

}  // namespace lockkeeper::support
