// SPDX-License-Identifier: Apache-2.0
#include "bench/servers.h"

namespace lockkeeper::bench {

double Servers::CpuSeconds() const {
  return service_.CpuSeconds() + echo_.CpuSeconds() + secured_echo_.CpuSeconds() +
         durable_.CpuSeconds() + tcp_.CpuSeconds() + tls_.CpuSeconds() + cluster_.CpuSeconds() +
         replicated_.CpuSeconds() + confirmed_.CpuSeconds() + audited_.CpuSeconds() +
         traced_.CpuSeconds() + fully_traced_.CpuSeconds() + observed_.CpuSeconds() +
         secured_.CpuSeconds() + etcd_.CpuSeconds() + postgres_.CpuSeconds();
}

}  // namespace lockkeeper::bench
