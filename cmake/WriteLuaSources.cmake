# SPDX-License-Identifier: Apache-2.0
# cmake -P script: writes OUT/scripts.h and OUT/scripts.cc for the files in SCRIPTS, and OUT/format/record_columns.h for record.lua beside them. The files that a script names in its third line,
# `-- with record.lua, line.lua`, are built in behind the `#!lua` line, once for calls with one key per lock and, if that makes a
# difference, once for two (link_lua.lua, run by LUA). Bytes are written as numbers: no limit on the length of a literal, nothing to
# escape.

set(declarations "")
set(common_outcomes "")
set(columns "")
set(enumerations "")
set(definitions "")
set(objects "")
set(entries "")

# Links SCRIPT for KEYS keys per lock; sets `linked` to the file's path and `sha1` to its digest.
function(link_script KEYS SCRIPT)
  file(STRINGS "${SCRIPT}" with REGEX "^-- with ")
  string(REGEX REPLACE "^-- with |," "" parts "${with}")
  separate_arguments(parts)
  get_filename_component(folder "${SCRIPT}" DIRECTORY)
  get_filename_component(name "${SCRIPT}" NAME_WE)
  list(TRANSFORM parts PREPEND "${folder}/")
  set(linked "${OUT}/${name}.${KEYS}.lua")
  execute_process(COMMAND "${LUA}" "${CMAKE_CURRENT_LIST_DIR}/link_lua.lua" ${KEYS} "${SCRIPT}" ${parts}
    OUTPUT_FILE "${linked}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${SCRIPT} cannot be linked")
  endif()
  file(SHA1 "${linked}" sha1)
  set(linked "${linked}" PARENT_SCOPE)
  set(sha1 "${sha1}" PARENT_SCOPE)
endfunction()

# Appends the object IDENTIFIER for the script that was linked last; FOR_TWO_KEYS points to its twin.
macro(define_script IDENTIFIER NAME FOR_TWO_KEYS)
  file(READ "${linked}" hex HEX)
  string(REGEX REPLACE "(................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND definitions "constexpr unsigned char ${IDENTIFIER}Bytes[] = {\n${bytes}};\n")
  string(APPEND objects
    "const ScriptSource ${IDENTIFIER}{\n    \"${NAME}\", Text(${IDENTIFIER}Bytes), \"${sha1}\", ${FOR_TWO_KEYS}};\n")
  string(APPEND entries "      ${IDENTIFIER},\n")
endmacro()

# Appends the outcomes of SCRIPT, which its header numbers and names (`--  1 GRANTED, 2 ...`), as an enumeration.
macro(declare_outcomes SCRIPT IDENTIFIER)
  file(STRINGS "${SCRIPT}" header REGEX "^--")
  string(REGEX MATCHALL "[0-9]+ [A-Z]+[A-Z_]*[A-Z]" outcomes "${header}")
  if(outcomes)
    string(APPEND enumerations "enum class ${IDENTIFIER}ScriptOutcome : std::int64_t {\n")
    foreach(outcome IN LISTS outcomes)
      string(REGEX MATCH "^[0-9]+" number "${outcome}")
      camel_case("${outcome}" enumerator)
      string(APPEND enumerations "  k${enumerator} = ${number},\n")
    endforeach()
    string(APPEND enumerations "};\n")
  endif()
endmacro()

# Appends the outcomes that RECORD names with a comment each (`local LINE = 80 -- ...`), as constants.
macro(declare_common_outcomes RECORD)
  file(STRINGS "${RECORD}" lines REGEX "^local [A-Z_]+ = [0-9]+ -- ")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^local ([A-Z_]+) = ([0-9]+) -- (.*)$" line "${line}")
    set(number ${CMAKE_MATCH_2})
    set(comment "${CMAKE_MATCH_3}")
    camel_case("${CMAKE_MATCH_1}" constant)
    string(APPEND common_outcomes "// ${comment}\ninline constexpr std::int64_t kOutcome${constant} = ${number};\n")
  endforeach()
endmacro()

# Appends the columns that the head of RECORD lists (`16- 31 token`), as constants.
macro(declare_columns RECORD)
  file(STRINGS "${RECORD}" lines REGEX "^-- +[0-9]")
  string(REGEX MATCHALL "[0-9]+(- ?[0-9]+)? [a-z_]+( [a-z_]+)*" entries_of_record "${lines}")
  foreach(entry IN LISTS entries_of_record)
    string(REGEX MATCH "^([0-9]+)(- ?([0-9]+))? (.*)$" entry "${entry}")
    set(first ${CMAKE_MATCH_1})
    set(last ${CMAKE_MATCH_3})
    camel_case("${CMAKE_MATCH_4}" constant)
    if(NOT last)
      set(last ${first})
    endif()
    string(APPEND columns "inline constexpr Column k${constant}{${first}, ${last}};\n")
  endforeach()
endmacro()

# Sets OUT to TEXT's words, which `_` or a space separates, LikeThis; numbers are left out.
function(camel_case TEXT OUT)
  string(REGEX MATCHALL "[A-Za-z]+" words "${TEXT}")
  set(joined "")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(TOUPPER "${first}" first)
    string(TOLOWER "${rest}" rest)
    string(APPEND joined "${first}${rest}")
  endforeach()
  set(${OUT} "${joined}" PARENT_SCOPE)
endfunction()

list(GET SCRIPTS 0 script)
get_filename_component(folder "${script}" DIRECTORY)
declare_common_outcomes("${folder}/record.lua")
declare_columns("${folder}/record.lua")

foreach(script IN LISTS SCRIPTS)
  get_filename_component(name "${script}" NAME_WE)
  camel_case("${name}" identifier)
  declare_outcomes("${script}" ${identifier})

  string(APPEND declarations "extern const ScriptSource k${identifier}Script;  // ${name}.lua\n")
  link_script(1 "${script}")
  set(one_key_sha1 "${sha1}")
  link_script(2 "${script}")
  set(twin nullptr)
  if(NOT sha1 STREQUAL one_key_sha1)
    define_script(k${identifier}ScriptForTwoKeys ${name} nullptr)
    set(twin &k${identifier}ScriptForTwoKeys)
    link_script(1 "${script}")
  endif()
  define_script(k${identifier}Script ${name} "${twin}")
endforeach()

file(CONFIGURE OUTPUT "${OUT}/scripts.h" @ONLY CONTENT [=[
// SPDX-License-Identifier: Apache-2.0
//
// The Lua scripts of server/redis/scripts as Redis gets them, with the digests that EVALSHA names them by.
// Generated by cmake/WriteLuaSources.cmake; do not edit.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockkeeper::redis {

@common_outcomes@
// What each script answers for an operation besides; its header says what that means.
@enumerations@
struct ScriptSource {
  std::string_view name;  // file name without ".lua"
  std::string_view text;  // the whole script
  std::string_view sha1;  // of the text, 40 lower-case hex digits
  const ScriptSource* for_two_keys = nullptr;  // if that is another text

  // The text for calls that name so many keys for each lock.
  const ScriptSource& ForKeys(std::size_t keys_per_lock) const {
    return keys_per_lock == 2 && for_two_keys != nullptr ? *for_two_keys : *this;
  }
};

@declarations@
// Every text, in the order of their names.
std::span<const ScriptSource> AllScripts();

}  // namespace lockkeeper::redis
]=])

file(CONFIGURE OUTPUT "${OUT}/format/record_columns.h" @ONLY CONTENT [=[
// SPDX-License-Identifier: Apache-2.0
//
// The columns of the lock record, as the head of server/redis/scripts/record.lua lists them.
// Generated by cmake/WriteLuaSources.cmake; do not edit.

#pragma once

#include <cstddef>
#include <string_view>

namespace lockkeeper::redis {

// The first and the last, counted from 1.
struct Column {
  std::size_t first;
  std::size_t last;

  constexpr std::size_t width() const { return last - first + 1; }
  constexpr std::string_view Of(std::string_view record) const { return record.substr(first - 1, width()); }
};

namespace column {

@columns@
}  // namespace column
}  // namespace lockkeeper::redis
]=])

file(CONFIGURE OUTPUT "${OUT}/scripts.cc" @ONLY CONTENT [=[
// SPDX-License-Identifier: Apache-2.0
// Generated by cmake/WriteLuaSources.cmake; do not edit.
#include "redis/scripts.h"

#include <cstddef>

namespace lockkeeper::redis {
namespace {

@definitions@
template <std::size_t N>
std::string_view Text(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

}  // namespace

@objects@
std::span<const ScriptSource> AllScripts() {
  static const ScriptSource kScripts[] = {
@entries@  };
  return kScripts;
}

}  // namespace lockkeeper::redis
]=])
