// SPDX-License-Identifier: Apache-2.0
//
// What the figures were measured on, and whether other programs were in the way.
#pragma once

#include <map>
#include <string>

#include "bench/servers.h"

namespace lockkeeper::bench {

// By what they tell: commit, version, compiler, grpc, redis, disk, system, processor, processors.
std::map<std::string, std::string> DescribeMachine(const Servers& servers);

// How much of the machine's processors is used by programs other than this one and its children.
//
// Thread-safety: not thread-safe. Lifetime: borrows the argument.
class OtherPrograms {
 public:
  explicit OtherPrograms(const Servers& servers);

  // Of all processors, from 0 to 1, since the construction.
  double Share() const;

 private:
  // In seconds of one processor, since some time ago.
  struct Used {
    double by_all, by_us, with_idle;
  };
  Used Now() const;

  const Servers& servers_;
  const Used begin_;
};

}  // namespace lockkeeper::bench
