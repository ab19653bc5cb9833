// SPDX-License-Identifier: Apache-2.0
//
// The guardian's side: starts the command, waits for it and stops it in time. One thread, no gRPC.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/run/protocol.h"
#include "cli/run/stop_plan.h"
#include "os/descriptor.h"

namespace lockkeeper::cli {

struct GuardianSetup {
  std::string lock_name;
  std::vector<std::string> command;  // Program (looked up in PATH) and arguments.
  Duration grace{0};
  sigset_t signal_mask{};  // Of the command.
  int terminal = -1;       // Descriptor of the controlling terminal; -1: none.
};

class Guardian {
 public:
  Guardian(const GuardianSetup& setup, os::Descriptor socket);

  // Serves run until it is gone or the command has ended.
  void Run();

 private:
  void OnOrder(const Order& order);
  void OnRunGone();
  void OnChildren();
  void OnTime();

  void Start(const Order& order);
  [[noreturn]] void BecomeCommand(const Order& order, pid_t guardian, int go, int failure);
  void SignalGroup(int signal);
  void CarryOutPlan();
  // After the command has ended: waits for the rest of its group, which is stopped.
  void LookAtGroup();
  void SetTimer();
  void Tell(const Notice& notice);

  const GuardianSetup& setup_;
  os::Descriptor socket_;
  os::Descriptor children_;
  os::Descriptor timer_;
  StopPlan plan_;
  pid_t command_ = 0;       // 0: not started. Also the number of its group.
  bool is_reaped_ = false;  // The command has ended.
  bool stopped_for_lease_ = false;
  bool is_done_ = false;
  int wait_status_ = 0;
  Instant give_up_at_ = Instant::max();  // On members of the group that SIGKILL does not end.
};

}  // namespace lockkeeper::cli
