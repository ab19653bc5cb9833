// SPDX-License-Identifier: Apache-2.0
//
// What ties the work of one operation together for somebody who follows it. The domain passes it
// on with the request, from port to port, and never looks into it.
#pragma once

#include <memory>

namespace lockkeeper::core {

// Who begins a trace derives from it, and knows its own again.
class Trace {
 public:
  virtual ~Trace() = default;
};

// Null: nobody follows the operation. So it is mostly.
using TraceRef = std::shared_ptr<const Trace>;

}  // namespace lockkeeper::core
