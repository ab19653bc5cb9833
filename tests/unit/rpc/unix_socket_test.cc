// SPDX-License-Identifier: Apache-2.0
#include "rpc/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/process/temporary_directory.h"

namespace lockkeeper::rpc {
namespace {

using testing::HasSubstr;

class UnixSocketTest : public testing::Test {
 protected:
  // A socket bound to `path_`; closing it leaves the file behind.
  int Bind() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, path_.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  std::string Refusal() {
    const auto claim = UnixSocketClaim::Make(path_);
    EXPECT_EQ(claim.status().code(), absl::StatusCode::kUnavailable);
    return std::string(claim.status().message());
  }

  bool DirectoryIsEmpty() const { return std::filesystem::is_empty(directory_.path()); }

  support::TemporaryDirectory directory_;
  std::string path_ = directory_.Path("s");
};

TEST_F(UnixSocketTest, FreePathIsClaimedAndLeftClean) {
  auto claim = UnixSocketClaim::Make(path_);
  ASSERT_TRUE(claim.ok()) << claim.status();
  const int fd = Bind();
  claim->reset();
  EXPECT_TRUE(DirectoryIsEmpty());
  close(fd);
}

TEST_F(UnixSocketTest, SecondClaimIsRefusedWhileTheFirstLives) {
  auto claim = UnixSocketClaim::Make(path_);
  ASSERT_TRUE(claim.ok());

  EXPECT_THAT(Refusal(), HasSubstr("unix:" + path_ + ": in use by another daemon"));

  claim->reset();
  EXPECT_TRUE(UnixSocketClaim::Make(path_).ok());
}

TEST_F(UnixSocketTest, StaleSocketIsTaken) {
  close(Bind());
  EXPECT_TRUE(UnixSocketClaim::Make(path_).ok());
}

TEST_F(UnixSocketTest, SocketOfAnotherProgramIsKept) {
  const int fd = Bind();
  ASSERT_EQ(listen(fd, 0), 0);

  EXPECT_THAT(Refusal(), HasSubstr("in use by another program"));

  EXPECT_TRUE(std::filesystem::is_socket(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".lock"));
  close(fd);
}

TEST_F(UnixSocketTest, OrdinaryFileIsKept) {
  std::ofstream(path_) << "precious";

  EXPECT_THAT(Refusal(), HasSubstr("exists and is not a socket"));

  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(UnixSocketTest, PathsThatNoSocketCanHaveAreRefused) {
  path_ = directory_.Path(std::string(108, 'p'));
  EXPECT_THAT(Refusal(), HasSubstr("1 to 107 bytes"));
  path_ = "";
  EXPECT_THAT(Refusal(), HasSubstr("1 to 107 bytes"));
  path_ = directory_.Path("missing/s");
  EXPECT_THAT(Refusal(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace lockkeeper::rpc
