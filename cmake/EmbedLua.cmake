# SPDX-License-Identifier: Apache-2.0
# lockkeeper_embed_lua(TARGET FOLDER): a library with the bytes and SHA-1 digest of every FOLDER/*.lua, as "redis/scripts.h", so that
# EVALSHA needs no digest code at run time and a deployment no script files. `acquire.lua` becomes `kAcquireScript`. The files frame.lua,
# record.lua and line.lua are no scripts: their text is built into those that name them.

function(lockkeeper_embed_lua TARGET FOLDER)
  file(GLOB scripts CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/*.lua")
  if(NOT scripts)
    return()
  endif()
  set(parts frame.lua record.lua line.lua)
  list(TRANSFORM parts PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/")
  list(REMOVE_ITEM scripts ${parts})
  set(out "${PROJECT_BINARY_DIR}/generated/${TARGET}")
  set(made scripts.h scripts.cc format/record_columns.h format/marker_columns.h)
  list(TRANSFORM made PREPEND "${out}/redis/")
  set(generator "${PROJECT_SOURCE_DIR}/cmake/WriteLuaSources.cmake")
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} "-DSCRIPTS=${scripts}" -D OUT=${out}/redis -D LUA=${LUA_PROGRAM} -P ${generator}
    DEPENDS ${scripts} ${parts} ${generator} "${PROJECT_SOURCE_DIR}/cmake/link_lua.lua"
    COMMENT "Embedding Lua scripts"
    VERBATIM)
  add_library(${TARGET} STATIC ${made})
  target_include_directories(${TARGET} PUBLIC "${out}")
  target_compile_options(${TARGET} PRIVATE ${LOCKKEEPER_WARNINGS})
endfunction()
