// SPDX-License-Identifier: Apache-2.0
//
// The interface of a simulated client, with a session or with unary calls.
#pragma once

#include "simulation/process.h"

namespace lockkeeper::simulation {

class AnyClient {
 public:
  virtual ~AnyClient() = default;

  virtual void Start() = 0;

  // Finishes its current work, and then does nothing more.
  virtual void Stop() = 0;
  virtual bool idle() const = 0;

  // From now on each acquire is for the first lock, waits long, is not given up, and holds the lock
  // for a short time.
  virtual void RunLastLap() = 0;
  virtual int last_laps() const = 0;

  virtual void Kill() = 0;
  virtual Process& process() = 0;
};

}  // namespace lockkeeper::simulation
