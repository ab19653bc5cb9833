// SPDX-License-Identifier: Apache-2.0
#include "config/url.h"

#include <algorithm>
#include <array>

namespace lockkeeper::config {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::array<std::string_view, 3> kTlsSchemes = {"rediss://", "rediss+sentinel://",
                                                         "rediss+cluster://"};
constexpr std::array<std::string_view, 4> kPlainSchemes = {"redis://", "unix://",
                                                           "redis+sentinel://", "redis+cluster://"};

template <size_t kCount>
bool BeginsWithOne(const std::array<std::string_view, kCount>& schemes, std::string_view url) {
  return std::any_of(schemes.begin(), schemes.end(),
                     [url](std::string_view scheme) { return url.starts_with(scheme); });
}

// Begin and end of the password in `url`; equal if there is none.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// From the first colon after the scheme to the last '@', because a password that was not
// percent-encoded may contain '/', '?' and '@'.
Range PasswordIn(std::string_view url) {
  const size_t scheme_end = url.find("://");
  const size_t begin = scheme_end == std::string_view::npos ? 0 : scheme_end + 3;
  const size_t at = url.rfind('@');
  const size_t colon = url.find(':', begin);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) return {};
  return {.begin = colon + 1, .end = at};
}

}  // namespace

std::string MaskUrl(const text::Secret& url) {
  std::string text = url.reveal();
  const Range password = PasswordIn(text);
  if (password.begin < password.end) {
    text.replace(password.begin, password.end - password.begin, kMask);
  }
  // Not a parameter of ours, but one that URLs of other programs have, so it may be here by
  // mistake.
  constexpr std::string_view kParameter = "password=";
  if (const size_t found = text.find(kParameter); found != std::string::npos) {
    text.replace(found + kParameter.size(), std::string::npos, kMask);
  }
  return text;
}

bool HasPassword(const text::Secret& url) {
  const Range password = PasswordIn(url.reveal());
  return password.begin < password.end;
}

bool AsksForTls(const text::Secret& url) { return BeginsWithOne(kTlsSchemes, url.reveal()); }

bool NamesSentinels(const text::Secret& url) {
  return url.reveal().substr(0, url.reveal().find("://")).ends_with("+sentinel");
}

text::Problem CheckStoreUrl(std::string_view url) {
  if (url.empty() || BeginsWithOne(kPlainSchemes, url) || BeginsWithOne(kTlsSchemes, url)) {
    return std::nullopt;
  }
  return "must be redis://[user:password@]host:port[/db], rediss://... (TLS), "
         "unix:///path?db=N, redis+sentinel://[user:password@]host:port,.../service[/db] or "
         "redis+cluster://[user:password@]host:port,... (rediss+... with TLS)";
}

}  // namespace lockkeeper::config
