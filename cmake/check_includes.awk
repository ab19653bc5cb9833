# SPDX-License-Identifier: Apache-2.0
# The rules of cmake/check_includes.sh. Three inputs, told apart by `mode`: the law, the output of `ninja -t deps`, our files' text.
# Plain awk, since a bare Debian has mawk.

# Tells once for each file and thing that it may not see.
function fail(file, thing, example) {
  if (!((file, thing) in told)) {
    told[file, thing] = 1
    printf "%s%s: may not include %s%s (cmake/include_law.txt)\n", source_dir, file, thing, example > "/dev/stderr"
    failed = 1
  }
}

function folder_of(path) {
  return sub(/\/[^\/]*$/, "", path) ? path : ""
}

# Whether `pattern`, a folder in the law, covers `folder`: exactly, or as a parent if it ends in a slash.
function covers(pattern, folder) {
  return pattern == folder || (pattern ~ /\/$/ && index(folder "/", pattern) == 1)
}

# The rule with the longest folder that covers `folder`; 0 if there is none.
function rule_of(folder, i, best) {
  best = 0
  for (i = 1; i <= rules; i++)
    if (covers(law_folder[i], folder) && (!best || length(law_folder[i]) > length(law_folder[best]))) best = i
  return best
}

function may_see_folder(rule, own, folder, n, words, i) {
  if (own == folder || law_ours[rule] == "*" || covers(law_folder[rule], folder)) return 1
  n = split(law_ours[rule], words, " ")
  for (i = 1; i <= n; i++) if (covers(words[i], folder)) return 1
  return 0
}

# `name` is a library ("absl") or, where a file names its header, library and folder ("absl/status").
function may_see_library(rule, name, n, words, i, library) {
  if (name == "" || law_libraries[rule] == "*") return 1
  library = name
  sub(/\/.*/, "", library)
  n = split(law_libraries[rule], words, " ")
  for (i = 1; i <= n; i++) {
    if (words[i] == name || words[i] == library) return 1
    if (name == library && index(words[i], library "/") == 1) return 1
  }
  return 0
}

# The library that a header belongs to, "" if to the system; `header` as written in <...>.
function library_of(header, first) {
  first = header
  if (!sub(/\/.*/, "", first)) {
    sub(/\.h(pp)?$/, "", first)
    if (first == "zconf") return "zlib"
    return first ~ /^(uv|microhttpd|zlib|lua|lauxlib|lualib|luaconf|ares|re2|expat|curl)$/ ? first : ""
  }
  if (first ~ /^(c\+\+|bits|sys|linux|asm|asm-generic|gnu|net|netinet|arpa|rpc|scsi|misc|mtd|drm|sound|rdma|video|xen)$/) return ""
  return first
}

# What a file was named by, as written in <...>; the compiler's own headers are the system's.
function header_of_path(path) {
  if (path ~ /\/lib\/(gcc|clang|llvm-[0-9]+)\//) return "compiler.h"
  if (!sub(/^\/usr\/include\//, "", path)) sub(/^.*\/include\//, "", path)
  sub(/^[a-z0-9_]+-linux-gnu[a-z0-9]*\//, "", path)
  return path
}

BEGIN { rules = 0; failed = 0 }

mode == "law" {
  if ($0 ~ /^[ \t]*(#|$)/) next
  n = split($0, column, /[ \t]*\|[ \t]*/)
  if (n != 3) { printf "include_law.txt: not three columns: %s\n", $0 > "/dev/stderr"; failed = 1; exit }
  rules++
  law_folder[rules] = column[1]
  law_ours[rules] = column[2]
  law_libraries[rules] = column[3]
  next
}

mode == "compiled" && /^[^ ].*: #deps/ { source = ""; next }

mode == "compiled" && /^[ \t]/ {
  path = $1
  if (source == "") {
    source = path
    rule = 0
    if (index(source, build_dir "generated/") == 1) next
    source = substr(source, length(source_dir) + 1)
    own = folder_of(source)
    rule = rule_of(own)
    if (!rule) fail(source, "anything before its folder has a rule")
    next
  }
  if (!rule) next
  if (index(path, build_dir "generated/") == 1) {
    name = substr(path, length(build_dir "generated/") + 1)
    sub(/\/.*/, "", name)
    if (!may_see_library(rule, name)) fail(source, name, ": " path)
  } else if (index(path, source_dir) == 1 && index(path, source_dir "build/") != 1) {
    seen = folder_of(substr(path, length(source_dir) + 1))
    if (!may_see_folder(rule, own, seen)) fail(source, substr(path, length(source_dir) + 1))
  } else {
    name = library_of(header_of_path(path))
    if (!may_see_library(rule, name)) fail(source, name, ": " path)
  }
  next
}

mode == "text" && /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
  file = substr(FILENAME, length(source_dir) + 1)
  own = folder_of(file)
  rule = rule_of(own)
  if (!rule) next
  header = $0
  sub(/^[^<"]*[<"]/, "", header)
  sub(/[>"].*/, "", header)
  generated = header == "redis/scripts.h" ? "lockkeeper_redis_scripts" \
      : header ~ /^google\/rpc\// ? "lockkeeper_google_rpc_proto" \
      : header ~ /^opentelemetry\/.*\.pb\.h$/ ? "lockkeeper_otlp_proto" \
      : header ~ /^lockkeeper\/.*\.pb\.h$/ ? "lockkeeper_proto" : ""
  if (generated != "") {
    if (!may_see_library(rule, generated)) fail(file, header)
  } else if (rule_of(folder_of("server/" header)) && folder_of("server/" header) != "server") {
    if (!may_see_folder(rule, own, folder_of("server/" header))) fail(file, header)
  } else if (header !~ /^lockkeeper\// && own ~ /^(server|client\/cpp\/include)/) {
    name = library_of(header)
    if (name != "" && split(header, part, "/") > 2) name = name "/" part[2]
    if (!may_see_library(rule, name)) fail(file, header)
  }
}

END { exit failed }
