// SPDX-License-Identifier: Apache-2.0
//
// What the world asks of a simulated client, whatever way it talks to daemons.
#pragma once

#include "simulation/process.h"

namespace lockkeeper::simulation {

class AnyClient {
 public:
  virtual ~AnyClient() = default;

  virtual void Start() = 0;

  // Finishes what it is at and then does nothing more.
  virtual void Stop() = 0;
  virtual bool idle() const = 0;

  // From now on each acquire waits long on the first lock, is not given up, and holds shortly.
  virtual void RunLastLap() = 0;
  virtual int last_laps() const = 0;

  virtual void Kill() = 0;
  virtual Process& process() = 0;
};

}  // namespace lockkeeper::simulation
