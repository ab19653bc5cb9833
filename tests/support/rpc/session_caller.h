// SPDX-License-Identifier: Apache-2.0
//
// One session, spoken from the protos alone; its calls block.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::support {

// Thread-safety: one thread may send while another one reads.
class SessionCaller {
 public:
  // Nothing is sent yet. The stream ends after `limit` at the latest.
  explicit SessionCaller(const std::shared_ptr<grpc::Channel>& channel,
                         std::chrono::milliseconds limit = std::chrono::seconds(60));
  ~SessionCaller();  // Breaks the stream if it has not ended.

  // Opens the session, and waits for the answer.
  v1::SessionOpened Open(const v1::SessionOpen& open = {});

  // False if the stream is broken.
  bool Send(const v1::SessionRequest& request);
  bool Send(const std::vector<v1::SessionOperation>& operations);
  bool Heartbeat(uint64_t number);
  bool Close();

  // No further message will come from this side.
  void HalfClose() { stream_->WritesDone(); }

  // The next message; nothing if the stream has ended.
  std::optional<v1::SessionResponse> Read();

  // Reads on to the next result, and takes it out of its message.
  std::optional<v1::SessionResult> ReadResult();

  // How the stream ended. Call it when Read() gave nothing.
  grpc::Status Finish();

  // Ends the stream as a client that dies would.
  void Break() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<v1::LockService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  std::vector<v1::SessionResult> results_;  // Read, and not taken yet, the next one last.
  bool finished_ = false;
};

v1::SessionOperation AcquireOperation(uint64_t id, const std::string& name,
                                      const std::string& lease_id,
                                      std::chrono::seconds wait_timeout = {});
v1::SessionOperation ExtendOperation(uint64_t id, const std::string& name,
                                     const std::string& lease_id);
v1::SessionOperation ReleaseOperation(uint64_t id, const std::string& name,
                                      const std::string& lease_id);

}  // namespace lockkeeper::support
