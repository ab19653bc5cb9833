# SPDX-License-Identifier: Apache-2.0
# lockkeeper_library, lockkeeper_executable and lockkeeper_proto_library: what all our targets have in common.

# Sets OUT to the sources (*.cc, but not main.cc) of FOLDERS (relative to the current folder), each of which has to have some. Globbed, because many people add files at once and a
# list in one file would be everybody's merge conflict; CONFIGURE_DEPENDS makes the build notice new files by itself.
function(lockkeeper_sources OUT FOLDERS)
  set(all "")
  foreach(folder IN LISTS FOLDERS)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
    list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
    if(NOT sources)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${folder} has no sources")
    endif()
    list(APPEND all ${sources})
  endforeach()
  set(${OUT} "${all}" PARENT_SCOPE)
endfunction()

# The digest of the law and of what enforces it: part of the checks' command lines, so that a change of the law checks all again.
set(include_law_digest "")
foreach(file IN ITEMS include_law.txt check_includes.awk check_includes.sh)
  file(SHA1 "${PROJECT_SOURCE_DIR}/cmake/${file}" digest)
  string(APPEND include_law_digest "${digest}")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/${file}")
endforeach()
string(SHA1 LOCKKEEPER_INCLUDE_LAW "${include_law_digest}")

# Makes the build of TARGET fail when its sources include what cmake/include_law.txt forbids.
function(lockkeeper_check_includes TARGET)
  if(NOT CMAKE_GENERATOR STREQUAL "Ninja")
    return()  # who else keeps what the compiler opened? `./dev` and the presets use Ninja
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()  # clang also names files of its own, which are no headers; the builds with GCC check
  endif()
  add_custom_command(TARGET ${TARGET} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E env LAW=${LOCKKEEPER_INCLUDE_LAW} ${PROJECT_SOURCE_DIR}/cmake/check_includes.sh
      ${CMAKE_MAKE_PROGRAM} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} "$<TARGET_OBJECTS:${TARGET}>"
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# lockkeeper_library(NAME FOLDERS folder... [INCLUDE_ROOT folder] [DEPS library...] [PRIVATE_DEPS library...])
# DEPS are seen through our headers; PRIVATE_DEPS only by our sources: third-party libraries belong there.
function(lockkeeper_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "INCLUDE_ROOT" "FOLDERS;DEPS;PRIVATE_DEPS")
  lockkeeper_sources(sources "${ARG_FOLDERS}")
  if(NOT ARG_INCLUDE_ROOT)
    set(ARG_INCLUDE_ROOT "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  add_library(${NAME} STATIC ${sources})
  target_include_directories(${NAME} PUBLIC "$<BUILD_INTERFACE:${ARG_INCLUDE_ROOT}>")
  target_compile_options(${NAME} PRIVATE ${LOCKKEEPER_WARNINGS})
  target_link_libraries(${NAME} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  lockkeeper_check_includes(${NAME})
  lockkeeper_precompile(${NAME} precompiled_headers)
endfunction()

set(LOCKKEEPER_EXECUTABLES_LINK "")  # What every executable of ours links.
if(LOCKKEEPER_SANITIZER)
  add_library(lockkeeper_sanitizer_options OBJECT "${PROJECT_SOURCE_DIR}/cmake/sanitizer_options.cc")
  set(LOCKKEEPER_EXECUTABLES_LINK lockkeeper_sanitizer_options)
endif()

# lockkeeper_executable(NAME SOURCES source... [DEPS library...])
function(lockkeeper_executable NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS")
  add_executable(${NAME} ${ARG_SOURCES})
  target_compile_options(${NAME} PRIVATE ${LOCKKEEPER_WARNINGS})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} ${LOCKKEEPER_EXECUTABLES_LINK})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  lockkeeper_check_includes(${NAME})
  lockkeeper_precompile(${NAME} precompiled_headers)
endfunction()

# lockkeeper_proto_library(NAME FOLDER [ROOT folder] [DEPS library...]): messages and gRPC stubs of all *.proto below ROOT/FOLDER. Protos
# import one another from ROOT, which is proto/ unless given.
function(lockkeeper_proto_library NAME FOLDER)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "ROOT" "DEPS")
  if(NOT ARG_ROOT)
    set(ARG_ROOT "${PROJECT_SOURCE_DIR}/proto")
  endif()
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS "${ARG_ROOT}/${FOLDER}/*.proto")
  if(NOT protos)
    message(FATAL_ERROR "${ARG_ROOT}/${FOLDER} has no protos")
  endif()
  set(out "${PROJECT_BINARY_DIR}/generated/${NAME}")
  file(MAKE_DIRECTORY "${out}")
  add_library(${NAME} STATIC)
  # SYSTEM, and -w below: generated code is not held to our warnings.
  target_include_directories(${NAME} SYSTEM PUBLIC "$<BUILD_INTERFACE:${out}>")
  target_link_libraries(${NAME} PUBLIC protobuf::libprotobuf gRPC::grpc++)
  target_link_libraries(${NAME} PUBLIC ${ARG_DEPS})
  target_compile_options(${NAME} PRIVATE -w)
  foreach(proto IN LISTS protos)
    file(RELATIVE_PATH relative "${ARG_ROOT}" "${proto}")
    string(REGEX REPLACE "\\.proto$" "" stem "${out}/${relative}")
    set(generated ${stem}.pb.h ${stem}.pb.cc)
    set(grpc_arguments "")
    file(STRINGS "${proto}" services REGEX "^service ")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${proto}")
    if(services)
      list(APPEND generated ${stem}.grpc.pb.h ${stem}.grpc.pb.cc)
      set(grpc_arguments --grpc_out=${out} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(
      OUTPUT ${generated}
      COMMAND protobuf::protoc --proto_path=${ARG_ROOT} --cpp_out=${out} ${grpc_arguments} ${proto}
      DEPENDS ${proto} protobuf::protoc
      COMMENT "Generating C++ from ${relative}"
      VERBATIM)
    target_sources(${NAME} PRIVATE ${generated})
  endforeach()
endfunction()
