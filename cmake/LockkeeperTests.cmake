# SPDX-License-Identifier: Apache-2.0
# lockkeeper_test(NAME FOLDERS folder... TIER tier [DEPS library...] [PROGRAMS target...] [TIMEOUT seconds] [SERIAL]): one
# GoogleTest executable of all *.cc in FOLDERS; every test in it is a ctest test named NAME.Suite.Test with label TIER, preceded
# by the sanitizer if there is one. The target tier_TIER builds what its tier needs.
# The tests find the program `lockkeeperd` under the macro LOCKKEEPERD_PROGRAM; it is built before them.
# SERIAL: nothing else runs meanwhile; for tests that measure.
# With the thread sanitizer only LOCKKEEPER_TSAN_TESTS are built: Debian's gRPC is not instrumented and reports false races.
include(GoogleTest)

if(LOCKKEEPER_SANITIZER STREQUAL "thread")
  add_custom_target(tsan_tests)
  # The sanitizer needs the address layout that it was made for; newer kernels randomise more of it.
  execute_process(COMMAND setarch -R true RESULT_VARIABLE setarch_failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT setarch_failed)
    set(LOCKKEEPER_TEST_LAUNCHER setarch -R)
  endif()
endif()

function(lockkeeper_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SERIAL" "TIER;TIMEOUT" "FOLDERS;DEPS;PROGRAMS")
  if(LOCKKEEPER_SANITIZER STREQUAL "thread" AND NOT NAME IN_LIST LOCKKEEPER_TSAN_TESTS)
    return()
  endif()
  lockkeeper_sources(sources "${ARG_FOLDERS}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(LOCKKEEPER_SANITIZER)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")  # As much slower as a sanitizer makes a program.
  endif()
  add_executable(${NAME} ${sources})
  add_dependencies(tier_${ARG_TIER} ${NAME})
  if(TARGET tsan_tests)
    add_dependencies(tsan_tests ${NAME})
  endif()
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(${NAME} PRIVATE ${LOCKKEEPER_WARNINGS} ${LOCKKEEPER_TEST_OPTIONS})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main ${LOCKKEEPER_EXECUTABLES_LINK})
  lockkeeper_precompile(${NAME} precompiled_test_headers)
  foreach(program IN LISTS ARG_PROGRAMS)
    add_dependencies(${NAME} ${program})
    string(TOUPPER ${program} macro)
    target_compile_definitions(${NAME} PRIVATE ${macro}_PROGRAM="$<TARGET_FILE:${program}>")
  endforeach()
  set(properties LABELS ${ARG_TIER} TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  if(LOCKKEEPER_TEST_LAUNCHER)
    set_target_properties(${NAME} PROPERTIES CROSSCOMPILING_EMULATOR "${LOCKKEEPER_TEST_LAUNCHER}")
  endif()
  if(LOCKKEEPER_SANITIZER)
    set(prefix "${LOCKKEEPER_SANITIZER}.")
  endif()
  gtest_discover_tests(${NAME} TEST_PREFIX "${prefix}${NAME}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
