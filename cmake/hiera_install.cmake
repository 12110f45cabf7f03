# cmake --install: the library, its headers, the programs, and the package that find_package(hiera)
# reads. The programs lie where the library looks for them, whatever the prefix.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS hiera EXPORT hiera_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/hiera/hiera.h include/hiera/hiera.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hiera)

foreach(program hiera-planner hiera-evaluator)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hiera)
  endif()
endforeach()
if(TARGET hiera-command)
  install(TARGETS hiera-command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hiera)
install(EXPORT hiera_targets NAMESPACE hiera:: DESTINATION ${package})
configure_package_config_file(cmake/hiera-config.cmake.in ${PROJECT_BINARY_DIR}/hiera-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hiera-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hiera-config.cmake
              ${PROJECT_BINARY_DIR}/hiera-config-version.cmake
        DESTINATION ${package})
