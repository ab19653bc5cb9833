// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/str_split.h"
#include "support/source_tree.h"
#include "telemetry/log.h"
#include "telemetry/metric_catalog.h"

namespace lockkeeper::telemetry {
namespace {

using absl::StatusCode;
using core::Micros;
using testing::HasSubstr;

// The value of the sample called `name`, labels included. -1: there is none.
double ValueOf(const std::string& exposed, const std::string& name) {
  const std::string text = "\n" + exposed;
  const size_t found = text.find("\n" + name + " ");
  return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
}

class MetricsTest : public testing::Test {
 protected:
  double ValueOf(const std::string& name) { return telemetry::ValueOf(metrics_.Expose(), name); }

  Metrics metrics_{"1.2.3", "abcdef"};
};

TEST_F(MetricsTest, RequestsAreCountedByOutcomeAndCode) {
  RpcMetrics& acquire = metrics_.ForRpc("Acquire");

  acquire.Record(Outcome::kGranted, StatusCode::kOk, Micros(300));
  acquire.Record(Outcome::kGranted, StatusCode::kOk, Micros(700));
  acquire.Record(Outcome::kContention, StatusCode::kOk, Micros(300));
  acquire.Record(Outcome::kError, StatusCode::kUnavailable, Micros(1'500'000));
  metrics_.ForRpc("Release").Record(Outcome::kReleased, StatusCode::kOk, Micros(200));

  const std::string prefix = "lockkeeper_rpc_total{";
  EXPECT_EQ(ValueOf(prefix + "code=\"OK\",outcome=\"granted\",rpc=\"Acquire\"}"), 2);
  EXPECT_EQ(ValueOf(prefix + "code=\"OK\",outcome=\"contention\",rpc=\"Acquire\"}"), 1);
  EXPECT_EQ(ValueOf(prefix + "code=\"UNAVAILABLE\",outcome=\"error\",rpc=\"Acquire\"}"), 1);
  EXPECT_EQ(ValueOf(prefix + "code=\"OK\",outcome=\"released\",rpc=\"Release\"}"), 1);
  EXPECT_EQ(ValueOf("lockkeeper_rpc_seconds_bucket{rpc=\"Acquire\",le=\"0.00025\"}"), 0);
  EXPECT_EQ(ValueOf("lockkeeper_rpc_seconds_bucket{rpc=\"Acquire\",le=\"0.0005\"}"), 2);
  EXPECT_EQ(ValueOf("lockkeeper_rpc_seconds_bucket{rpc=\"Acquire\",le=\"0.001\"}"), 3);
  EXPECT_EQ(ValueOf("lockkeeper_rpc_seconds_bucket{rpc=\"Acquire\",le=\"2.5\"}"), 4);
  EXPECT_EQ(ValueOf("lockkeeper_rpc_seconds_count{rpc=\"Acquire\"}"), 4);
  EXPECT_NEAR(ValueOf("lockkeeper_rpc_seconds_sum{rpc=\"Acquire\"}"), 1.5013, 1e-6);
}

TEST_F(MetricsTest, CodeBeyondTheKnownCountsAsUnknown) {
  metrics_.ForRpc("Fence").Record(Outcome::kError, static_cast<StatusCode>(99), Micros(1));

  EXPECT_EQ(ValueOf("lockkeeper_rpc_total{code=\"UNKNOWN\",outcome=\"error\",rpc=\"Fence\"}"), 1);
}

TEST_F(MetricsTest, SameNameGivesTheSameHandle) {
  EXPECT_EQ(&metrics_.ForRpc("Acquire"), &metrics_.ForRpc("Acquire"));
  EXPECT_NE(&metrics_.ForRpc("Acquire"), &metrics_.ForRpc("Extend"));
  EXPECT_EQ(&metrics_.ForScript("acquire"), &metrics_.ForScript("acquire"));
}

TEST_F(MetricsTest, NothingIsLostBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 5000;
  RpcMetrics& extend = metrics_.ForRpc("Extend");
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kRequests; ++k) {
        extend.Record(Outcome::kExtended, StatusCode::kOk, Micros(100));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(ValueOf("lockkeeper_rpc_total{code=\"OK\",outcome=\"extended\",rpc=\"Extend\"}"),
            kThreads * kRequests);
  EXPECT_EQ(ValueOf("lockkeeper_rpc_seconds_count{rpc=\"Extend\"}"), kThreads * kRequests);
}

TEST_F(MetricsTest, ScriptCallsAreTimedByOutcome) {
  ScriptMetrics& acquire = metrics_.ForScript("acquire");

  acquire.Record(CommandOutcome::kOk, Micros(80));
  acquire.Record(CommandOutcome::kErrorReply, Micros(90));
  acquire.Record(CommandOutcome::kNoReply, Micros(1'000'000));

  const std::string count = "lockkeeper_redis_command_seconds_count{";
  EXPECT_EQ(ValueOf(count + "outcome=\"ok\",script=\"acquire\"}"), 1);
  EXPECT_EQ(ValueOf(count + "outcome=\"error_reply\",script=\"acquire\"}"), 1);
  EXPECT_EQ(ValueOf(count + "outcome=\"no_reply\",script=\"acquire\"}"), 1);
}

TEST_F(MetricsTest, SingleMetricsCountByThemselves) {
  metrics_.redis_reconnects().Increment();
  metrics_.redis_primaries().Increment();
  metrics_.script_reloads().Increment();
  metrics_.script_reloads().Increment();
  metrics_.store_up().Set(1);
  metrics_.event_loop_lag().Observe(Micros(2'000));

  EXPECT_EQ(ValueOf("lockkeeper_redis_reconnect_total"), 1);
  EXPECT_EQ(ValueOf("lockkeeper_redis_primary_total"), 1);
  EXPECT_EQ(ValueOf("lockkeeper_redis_script_reload_total"), 2);
  EXPECT_EQ(ValueOf("lockkeeper_store_up"), 1);
  EXPECT_EQ(ValueOf("lockkeeper_event_loop_lag_seconds_bucket{le=\"0.001\"}"), 0);
  EXPECT_EQ(ValueOf("lockkeeper_event_loop_lag_seconds_bucket{le=\"0.0025\"}"), 1);
  EXPECT_EQ(ValueOf("lockkeeper_build_info{commit=\"abcdef\",version=\"1.2.3\"}"), 1);
}

TEST_F(MetricsTest, EveryOutcomeHasItsOwnName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kOutcomes; ++i) {
    EXPECT_TRUE(names.insert(NameOf(static_cast<Outcome>(i))).second) << i;
  }
  EXPECT_FALSE(names.contains("unknown"));
}

TEST_F(MetricsTest, ProcessIsDescribed) {
  const std::string before = metrics_.Expose();
  const int fd = dup(STDERR_FILENO);
  const std::string after = metrics_.Expose();
  close(fd);

  EXPECT_EQ(telemetry::ValueOf(after, "process_open_fds"),
            telemetry::ValueOf(before, "process_open_fds") + 1);
  EXPECT_GE(telemetry::ValueOf(after, "process_max_fds"),
            telemetry::ValueOf(after, "process_open_fds"));
  EXPECT_GT(telemetry::ValueOf(before, "process_resident_memory_bytes"), 1'000'000);
  EXPECT_GE(telemetry::ValueOf(before, "process_cpu_seconds_total"), 0);
  // This process is young; clock ticks are coarse.
  const double now = std::chrono::duration<double>(SystemLogTime().wall.time_since_epoch()).count();
  EXPECT_GT(telemetry::ValueOf(before, "process_start_time_seconds"), now - 600);
  EXPECT_LE(telemetry::ValueOf(before, "process_start_time_seconds"), now + 2);
}

// --- the list of metrics ----------------------------------------------------------------------

std::string_view NameOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "?";
}

// By name: the type, and the labels of all samples but `le`.
struct Exposed {
  std::string type;
  std::set<std::string> labels;
};

std::map<std::string, Exposed> ParseExposition(const std::string& text) {
  std::map<std::string, Exposed> families;
  std::string family;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      family = words.at(2);
      families[family].type = words.at(3);
    } else if (!line.starts_with('#') && line.find('{') != std::string::npos) {
      const size_t begin = line.find('{') + 1;
      const std::string labels = line.substr(begin, line.rfind('}') - begin);
      for (const absl::string_view pair : absl::StrSplit(labels, ',')) {
        const std::string name(pair.substr(0, pair.find('=')));
        if (name != "le") families[family].labels.insert(name);
      }
    }
  }
  return families;
}

std::set<std::string> LabelsOf(const MetricInfo& info) {
  return absl::StrSplit(absl::string_view(info.labels.data(), info.labels.size()), ',',
                        absl::SkipEmpty());
}

TEST_F(MetricsTest, CatalogListsWhatIsExposed) {
  metrics_.ForRpc("Acquire").Record(Outcome::kGranted, StatusCode::kOk, Micros(1));
  metrics_.ForScript("acquire");
  metrics_.StoreLosses("emptied").Increment();
  metrics_.Reassertions("taken_back").Increment();
  metrics_.ConnectionsClosed("too_many").Increment();
  metrics_.FileReloads("server_tls", "used").Increment();
  metrics_.FilesRefused("server_tls").Set(0);
  metrics_.CertificateExpiry("server").Set(1);
  metrics_.QuotaRefusals("leases").Increment();
  metrics_.Confirmations("confirmed").Observe(Micros(1));
  metrics_.Sentinels("known").Set(3);
  metrics_.ClusterPrimaries("known").Set(3);
  metrics_.parts_moved();

  std::map<std::string, Exposed> exposed = ParseExposition(metrics_.Expose());

  for (const MetricInfo& info : catalog::kAll) {
    const auto found = exposed.find(std::string(info.name));
    ASSERT_NE(found, exposed.end()) << info.name;
    EXPECT_EQ(found->second.type, NameOf(info.kind)) << info.name;
    EXPECT_EQ(found->second.labels, LabelsOf(info)) << info.name;
    exposed.erase(found);
  }
  for (const auto& [name, family] : exposed) ADD_FAILURE() << name << " is not in the catalog";
}

TEST_F(MetricsTest, NoMetricHasTheNameOfALockAsLabel) {
  for (const MetricInfo& info : catalog::kAll) {
    for (const std::string unbounded : {"lock_name", "name", "owner", "peer", "lease_id"}) {
      EXPECT_FALSE(LabelsOf(info).contains(unbounded)) << info.name;
    }
  }
}

TEST(MetricsReferenceTest, HasARowForEveryMetric) {
  std::vector<std::string> documented;
  for (const std::string& row : support::TableRowsOf("docs/reference/metrics.md")) {
    const std::vector<std::string> cells = support::CellsOf(row);
    if (cells.size() != 5U) continue;  // The table of outcomes.
    documented.push_back(cells[0] + " " + cells[1] + " " + cells[2]);
    EXPECT_FALSE(cells[3].empty()) << "the meaning of " << cells[0];
    EXPECT_FALSE(cells[4].empty()) << "the alert of " << cells[0];
  }

  std::vector<std::string> expected;
  for (const MetricInfo& info : catalog::kAll) {
    std::string labels;
    for (const absl::string_view label : absl::StrSplit(
             absl::string_view(info.labels.data(), info.labels.size()), ',', absl::SkipEmpty())) {
      labels += (labels.empty() ? "`" : ", `") + std::string(label) + "`";
    }
    expected.push_back("`" + std::string(info.name) + "` " + std::string(NameOf(info.kind)) + " " +
                       labels);
  }
  EXPECT_EQ(documented, expected) << "the first three columns of docs/reference/metrics.md";
}

TEST(MetricsReferenceTest, HasARowForEveryOutcome) {
  std::vector<std::string> documented;
  for (const std::string& row : support::TableRowsOf("docs/reference/metrics.md")) {
    const std::vector<std::string> cells = support::CellsOf(row);
    if (cells.size() == 3U) documented.push_back(cells[0]);
  }

  std::vector<std::string> expected;
  expected.reserve(kOutcomes);
  for (size_t i = 0; i < kOutcomes; ++i) {
    expected.push_back("`" + std::string(telemetry::NameOf(static_cast<Outcome>(i))) + "`");
  }
  EXPECT_EQ(documented, expected);
}

}  // namespace
}  // namespace lockkeeper::telemetry
