// SPDX-License-Identifier: Apache-2.0
//
// A daemon that says of its files what a test says.
#pragma once

#include <vector>

#include "rpc/service_deps.h"

namespace lockkeeper::support {

// Set it while no call is under way.
struct FakeDaemonView final : rpc::DaemonView {
  std::vector<rpc::CertificateEnd> Certificates() const override { return certificates; }
  std::vector<rpc::RefusedFiles> Refused() const override { return refused; }

  std::vector<rpc::CertificateEnd> certificates;
  std::vector<rpc::RefusedFiles> refused;
};

}  // namespace lockkeeper::support
