// SPDX-License-Identifier: Apache-2.0
#include "contract/store_world.h"

#include <algorithm>

#include "contract/fake_world.h"
#include "contract/real_world.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {

std::vector<WorldKind> WorldKinds(Guarding guarding) {
  std::vector<WorldKind> kinds = {{"InProcess", [guarding] { return MakeFakeWorld(guarding); }}};
  for (const std::string& program : InstalledServers()) {
    std::string name = program;
    std::erase(name, '-');
    kinds.push_back({name, [program, guarding] { return MakeRealWorld(program, guarding); }});
  }
  return kinds;
}

}  // namespace lockkeeper::support
