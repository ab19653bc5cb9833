# SPDX-License-Identifier: Apache-2.0
# Precompiled headers. Half of a build would be parsing the same large headers again, above all those of gRPC and GoogleTest.
# Only headers of the system, of libraries and of generated code are precompiled, so that a change of ours does not compile everything
# again. A source still includes what it uses: clang-tidy compiles without precompiled headers and reports a missing include.

set(standard_headers
  <algorithm> <array> <atomic> <chrono> <deque> <functional> <map> <memory> <mutex> <optional> <string> <string_view> <unordered_map>
  <utility> <variant> <vector> <absl/functional/any_invocable.h> <absl/status/statusor.h>)
set(grpc_headers <grpcpp/grpcpp.h> <lockkeeper/admin/v1/admin_service.grpc.pb.h> <lockkeeper/v1/lock_service.grpc.pb.h>)
set(test_headers <fstream> <set> <sstream> <thread> <gmock/gmock.h> <gtest/gtest.h>)

# precompile(NAME HEADERS header... [DEPS library...] [OPTIONS option...])
function(precompile NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "HEADERS;DEPS;OPTIONS")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${NAME}.cc" CONTENT "")
  add_library(${NAME} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/generated/${NAME}.cc")
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS})
  target_compile_options(${NAME} PRIVATE ${LOCKKEEPER_WARNINGS} ${ARG_OPTIONS})  # GCC wants the same of these too
  target_precompile_headers(${NAME} PRIVATE ${ARG_HEADERS})
  if(CCACHE_PROGRAM)
    set_property(TARGET ${NAME} PROPERTY CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/without_old_output.sh" ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
endfunction()

precompile(precompiled_headers HEADERS ${standard_headers})
precompile(precompiled_headers_grpc HEADERS ${standard_headers} ${grpc_headers} DEPS lockkeeper_proto)
if(LOCKKEEPER_TESTS)
  precompile(precompiled_test_headers HEADERS ${standard_headers} ${test_headers} DEPS GTest::gmock OPTIONS ${LOCKKEEPER_TEST_OPTIONS})
  precompile(precompiled_test_headers_grpc
    HEADERS ${standard_headers} ${test_headers} ${grpc_headers} DEPS lockkeeper_proto GTest::gmock OPTIONS ${LOCKKEEPER_TEST_OPTIONS})
endif()

# lockkeeper_precompile(TARGET HEADERS): lets TARGET use the precompiled HEADERS, with those of gRPC if TARGET itself links gRPC.
function(lockkeeper_precompile TARGET HEADERS)
  get_target_property(libraries ${TARGET} LINK_LIBRARIES)
  if(libraries MATCHES "gRPC::|_proto|_rpc")
    set(HEADERS ${HEADERS}_grpc)
  endif()
  target_precompile_headers(${TARGET} REUSE_FROM ${HEADERS})
endfunction()
