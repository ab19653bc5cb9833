# SPDX-License-Identifier: Apache-2.0
# Language, warnings, linker and compiler cache: one place for all targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# One kind of code for libraries and programs, with and without threads: precompiled headers fit only the kind that they are made for.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
add_compile_options(-pthread -D_FILE_OFFSET_BITS=64)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-fclang-abi-compat=17)  # Newer ones name some function templates unlike GCC, with which Debian builds Abseil.
endif()
# The code of a test runs once: optimising it takes longer than it saves.
set(LOCKKEEPER_TEST_OPTIONS -O0)
if(LOCKKEEPER_SANITIZER STREQUAL "address")
  # It looks at what is shipped: this halves the compiler's time for tests. The macro decides the layout of Abseil's containers.
  list(APPEND LOCKKEEPER_TEST_OPTIONS -fno-sanitize=all -D__SANITIZE_ADDRESS__=1)
endif()
# An error with the compilers of CI and of `./dev fuzz`. A newer GCC warns of what is in order, too, and must not keep anybody from
# building.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()

set(LOCKKEEPER_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wextra-semi -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-qual -Wformat=2 -Wundef -Wvla
  # Options structs are filled with designated initialisers; what is left out has its default.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND LOCKKEEPER_WARNINGS -Wduplicated-cond -Wlogical-op -Wsuggest-override)
  # False alarms on the concatenation of std::string (GCC bug 105651), up to GCC 14 where <string> is precompiled. The precompiled
  # headers need the options too: their state wins.
  list(APPEND LOCKKEEPER_WARNINGS -Wno-restrict -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow)
  if(LOCKKEEPER_SANITIZER OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # False alarms where a sanitizer, or GCC 14, splits the control flow (GCC bug 105562 and kin); release with GCC 12 keeps the warning.
    list(APPEND LOCKKEEPER_WARNINGS -Wno-maybe-uninitialized)
  endif()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source tree do not count, so that every checkout on a machine shares one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    "${CCACHE_PROGRAM}")
endif()

find_program(FAST_LINKER NAMES mold ld.lld)
if(FAST_LINKER MATCHES "mold$")
  add_link_options(-fuse-ld=mold)
elseif(FAST_LINKER)
  add_link_options(-fuse-ld=lld)
endif()

# No library in a process that does not call it: the thread sanitizer's tests must run without gRPC.
add_link_options(-Wl,--as-needed)
