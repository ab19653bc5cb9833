// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/leadership.h"

#include <utility>

#include "campaign.h"

namespace lockkeeper {

Leadership::Leadership(std::unique_ptr<client::Campaign> campaign)
    : campaign_(std::move(campaign)) {}
Leadership::Leadership(Leadership&&) noexcept = default;
Leadership::~Leadership() = default;

int64_t Leadership::term() const { return campaign_->term(); }

absl::Status Leadership::Resign() { return campaign_->Resign(); }

absl::Status Leadership::Close() { return campaign_->Close(); }

}  // namespace lockkeeper
