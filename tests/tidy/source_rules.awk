# SPDX-License-Identifier: Apache-2.0
# The rules themselves; see source_rules.sh. Plain awk, since a bare Debian has mawk.

function breach(line, rule) {
  printf "%s:%d: %s\n", file, line, rule
  breaches = 1
}

function end_of_file() {
  if (file == "") return
  if (is_cxx && lines > 1000) breach(lines, "longer than 1000 lines: find its second subject")
  if (file ~ /\.h$/ && !pragma_once) breach(1, "no #pragma once")
  if (file ~ /\.h$/ && !file_comment) breach(1, "no file comment after the SPDX line")
}

# `text` without string literals, what `backticks` quote, and, unless they are wanted, comments.
function code_of(text, keep_comments) {
  gsub(/\\"/, "", text)
  gsub(/"[^"]*"/, "\"\"", text)
  gsub(/`[^`]*`/, "", text)
  if (!keep_comments) sub(/\/\/.*/, "", text)
  return text
}

FNR == 1 {
  end_of_file()
  file = FILENAME
  lines = pragma_once = file_comment = 0
  spdx_line = 1
  is_cxx = file ~ /\.(cc|h)$/
  is_production = file ~ /^(server|client|proto)\//
}

{ lines = FNR }

# The first line may be a shebang; then the second is meant.
FNR == 1 && /^#!/ { spdx_line = 2 }
FNR == spdx_line && !/SPDX-License-Identifier: Apache-2\.0$/ { breach(FNR, "no SPDX line") }

/^#pragma once$/ { pragma_once = 1 }
is_cxx && !pragma_once && FNR > 1 && /^\/\/ ./ { file_comment = 1 }

is_cxx && length($0) > 100 && $0 !~ /https?:\/\// { breach(FNR, "longer than 100 columns") }
/FIXME/ && file !~ /^tests\/tidy\// { breach(FNR, "FIXME: mend it, or TODO(#issue)") }
/TODO/ && $0 !~ /TODO\(#[0-9]+\)/ && file !~ /^tests\/tidy\// { breach(FNR, "TODO without (#issue)") }

# One word per meaning.
is_production && tolower(code_of($0, 1)) ~ /(^|[^a-z])(master|slave)s?([^a-z]|$)/ { breach(FNR, "say primary or replica") }
is_production && tolower(code_of($0, 1)) ~ /(^|[^a-z])(lock_timeout|lease_timeout|lock timeout|lease timeout)([^a-z]|$)/ { breach(FNR, "say ttl") }

# Calls that have one place.
is_cxx { code = code_of($0, 0) }
is_cxx && file !~ /clock/ && file !~ /^server\/telemetry\/(log|process_metrics)\./ && code ~ /absl::Now\(|system_clock::now|steady_clock::now|clock_gettime\(|gettimeofday\(|[^_a-zA-Z]time\((NULL|nullptr|0)\)/ \
  && file !~ /^tests\/(bench|support|integration|scripts|histories)\// && file !~ /^tests\/simulation\/campaign/ && code !~ /set_deadline\(/ { breach(FNR, "time comes from a Clock") }
# (The storm's workers hold a lock for a while, histories let time pass between faults: that is their work, they wait for nothing.)
is_cxx && file !~ /^tests\/(integration\/storm\/worker|histories)\// && code ~ /(^|[^a-zA-Z_])(sleep|usleep|nanosleep)\(|sleep_for\(|sleep_until\(|SleepFor\(/ { breach(FNR, "no sleeps: wait for what you wait for") }
is_cxx && (code ~ /(^|[^a-zA-Z_])s?rand\(/ || (file ~ /^server\/core\// && code ~ /random_device|BitGen/)) { breach(FNR, "randomness is injected") }
is_cxx && file ~ /^server\// && file !~ /^server\/(audit\/trail|daemon\/loop_watch|loop\/event_loop|embedded\/embedded_store|listen\/accept_loop|os\/file_watch|rpc\/list_queue|tracing\/exporter|main)\./ && code ~ /std::j?thread[^:]/ \
  { breach(FNR, "threads are made in audit/trail, daemon/loop_watch, loop/event_loop, embedded/embedded_store, listen/accept_loop, os/file_watch, rpc/list_queue and tracing/exporter") }
is_cxx && file ~ /^server\// && file !~ /^server\/core\/errors\.cc$/ \
  && code ~ /absl::(Aborted|AlreadyExists|Cancelled|DataLoss|DeadlineExceeded|FailedPrecondition|Internal|InvalidArgument|NotFound|OutOfRange|PermissionDenied|ResourceExhausted|Unauthenticated|Unavailable|Unimplemented|Unknown)Error\(/ \
  { breach(FNR, "errors are made in core/errors") }
is_cxx && file ~ /^server\// && file !~ /^server\/(rpc\/|tracing\/otlp_sender\.)/ && code ~ /grpc::Status/ { breach(FNR, "grpc::Status belongs to rpc/") }
is_cxx && file ~ /^server\// && $0 ~ /redis\.p?call/ { breach(FNR, "Lua lives in redis/scripts/*.lua") }
is_cxx && code ~ /(^|[^a-zA-Z_:])assert\(/ { breach(FNR, "no assert: handle it, or LOCKKEEPER_INVARIANT") }
is_cxx && file ~ /\.h$/ && code ~ /using namespace/ { breach(FNR, "no using namespace in a header") }
is_cxx && file ~ /^tests\// && code ~ /DISABLED_|GTEST_SKIP\(\)/ && $0 !~ /GTEST_SKIP\(\) << / { breach(FNR, "a skipped test says why") }

END {
  end_of_file()
  exit breaches
}
