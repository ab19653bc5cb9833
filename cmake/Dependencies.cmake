# SPDX-License-Identifier: Apache-2.0
# Every library we use: version floor (what Debian 12 has, unless said otherwise) and why it is worth it.

find_package(PkgConfig REQUIRED)

find_package(Threads REQUIRED)                       # the event loop's own thread
find_package(OpenSSL 3.0 REQUIRED)                   # TLS to Redis, checks of certificates, and the re-assertion MAC
find_package(Protobuf 3.21 REQUIRED)                 # the API's messages; Debian has only the module, and gRPC needs it found before
find_package(gRPC 1.51 CONFIG REQUIRED)              # the API, from any language
find_package(absl CONFIG REQUIRED)                   # Status, AnyInvocable, hash maps; what gRPC brings anyway
if(absl_VERSION VERSION_LESS 20220623)               # it calls no two of its versions compatible, so it cannot be asked for one
  message(FATAL_ERROR "Abseil 20220623 or later is needed; this is ${absl_VERSION}")
endif()
find_package(spdlog 1.10 CONFIG REQUIRED)            # log sinks and their thread safety
find_package(yaml-cpp 0.7 CONFIG REQUIRED)           # the configuration file, with line numbers for its errors
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)     # its name before 0.8
endif()
find_path(UTF8CPP_INCLUDE_DIR utf8cpp/utf8.h REQUIRED)                    # utfcpp 3.2, header only: what is well-formed UTF-8; its CMake target has another name in Debian 13
find_package(nlohmann_json 3.11 CONFIG REQUIRED)      # JSON of JWTs and key sets
find_package(CLI11 2.1 CONFIG REQUIRED)              # command lines of daemon and tool
find_package(prometheus-cpp CONFIG REQUIRED)         # 1.0 or later (it does not say): counters and their text form for /metrics
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv>=1.44)             # event loop: sockets, timers, wake-ups
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)  # /healthz, /readyz, /metrics: HTTP that survives slow clients without a thread for each
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls>=3.7)            # what libmicrohttpd speaks TLS by: certificates that are exchanged while it runs
# Redis connections: the commands' buffer and the reply parser; sockets of our own came with 1.x; Debian 12 has 0.14, so `./dev` builds it (cmake/build_hiredis.sh).
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis>=1.2)

find_program(LUA_PROGRAM NAMES lua5.1 REQUIRED)      # links the Lua scripts (cmake/link_lua.lua)

if(LOCKKEEPER_TESTS OR NOT DEFINED LOCKKEEPER_TESTS)
  find_package(GTest 1.12 CONFIG REQUIRED)                                # test framework
  find_package(benchmark 1.7 CONFIG REQUIRED)                             # micro-benchmarks of the hot path
  pkg_check_modules(LUA REQUIRED IMPORTED_TARGET luajit>=2.1)             # runs the real scripts in the in-process store, in half of the time of Lua 5.1
  find_package(mimalloc CONFIG REQUIRED)  # 2.0 or later (it calls no two majors compatible): the simulator allocates 60 times for each event: a tenth of its time
endif()
