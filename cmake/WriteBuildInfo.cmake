# SPDX-License-Identifier: Apache-2.0
# cmake -P script: writes OUTPUT from build_info.cc.in. Version: `git describe` at or after a tag vX.Y.Z, else PROJECT_VERSION-dev+commit.

find_program(GIT_PROGRAM git)
set(COMMIT "")
set(DESCRIBED "")
if(GIT_PROGRAM)
  execute_process(COMMAND ${GIT_PROGRAM} rev-parse HEAD WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_PROGRAM} describe --tags --match "v[0-9]*" --dirty WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE DESCRIBED OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

if(DESCRIBED)
  string(REGEX REPLACE "^v" "" VERSION "${DESCRIBED}")
elseif(COMMIT)
  string(SUBSTRING "${COMMIT}" 0 8 short)
  set(VERSION "${PROJECT_VERSION}-dev+${short}")
  execute_process(COMMAND ${GIT_PROGRAM} diff --quiet HEAD WORKING_DIRECTORY ${SOURCE_DIR} RESULT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND VERSION "-dirty")
  endif()
else()
  set(VERSION "${PROJECT_VERSION}")
endif()

# Leaves the file alone when nothing changed.
configure_file("${SOURCE_DIR}/cmake/build_info/build_info.cc.in" "${OUTPUT}" @ONLY)
