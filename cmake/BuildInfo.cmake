# SPDX-License-Identifier: Apache-2.0
# lockkeeper_build_info: version and commit, looked up at each build; its file changes only when they do.

set(build_info_source "${PROJECT_BINARY_DIR}/generated/build_info.cc")
add_custom_target(lockkeeper_write_build_info
  COMMAND ${CMAKE_COMMAND}
    -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D OUTPUT=${build_info_source} -D PROJECT_VERSION=${PROJECT_VERSION}
    "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" -D SANITIZER=${LOCKKEEPER_SANITIZER}
    -P ${PROJECT_SOURCE_DIR}/cmake/WriteBuildInfo.cmake
  BYPRODUCTS ${build_info_source}
  COMMENT "Looking up the version"
  VERBATIM)

add_library(lockkeeper_build_info STATIC ${build_info_source})
add_dependencies(lockkeeper_build_info lockkeeper_write_build_info)
target_include_directories(lockkeeper_build_info PUBLIC "${PROJECT_SOURCE_DIR}/cmake/build_info")
target_compile_options(lockkeeper_build_info PRIVATE ${LOCKKEEPER_WARNINGS})
