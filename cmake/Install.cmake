# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts in place: the daemon, the command line, the C++ client as the package `lockkeeper`, the protos for other
# languages, a configuration to start from, the licence.
include(CMakePackageConfigHelpers)

install(TARGETS lockkeeperd lockkeeper RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR})
# google/rpc: the details of errors, for languages that have no package of them.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/proto/lockkeeper" "${PROJECT_SOURCE_DIR}/proto/google"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/lockkeeper/proto FILES_MATCHING PATTERN "*.proto")
install(FILES "${PROJECT_SOURCE_DIR}/config/lockkeeper.yaml" DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/lockkeeper)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockkeeper)
set_target_properties(lockkeeper_client PROPERTIES EXPORT_NAME client)
set_target_properties(lockkeeper_proto PROPERTIES EXPORT_NAME proto)
set_target_properties(lockkeeper_os PROPERTIES EXPORT_NAME os)
set_target_properties(lockkeeper_text PROPERTIES EXPORT_NAME text)
install(TARGETS lockkeeper_client lockkeeper_proto lockkeeper_os lockkeeper_text EXPORT lockkeeperTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/client/cpp/include/lockkeeper" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY "${PROJECT_BINARY_DIR}/generated/lockkeeper_proto/lockkeeper" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.pb.h")
install(EXPORT lockkeeperTargets NAMESPACE lockkeeper:: DESTINATION ${package_dir})

set(package_out "${PROJECT_BINARY_DIR}/generated/package")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/lockkeeperConfig.cmake.in" "${package_out}/lockkeeperConfig.cmake"
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${package_out}/lockkeeperConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${package_out}/lockkeeperConfig.cmake" "${package_out}/lockkeeperConfigVersion.cmake" DESTINATION ${package_dir})
