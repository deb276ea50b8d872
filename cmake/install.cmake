# What `cmake --install` leaves behind: the rooms' libraries and headers, the program, and a package
# that another project finds with find_package(lockstep) and links as lockstep::lockstep.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(rooms GLOBAL PROPERTY LOCKSTEP_ROOMS)

foreach(room ${rooms})
  string(REGEX REPLACE "^lockstep_" "" exported ${room})
  set_target_properties(${room} PROPERTIES EXPORT_NAME ${exported})
endforeach()

# One name for all of the library.
add_library(lockstep INTERFACE)
add_library(lockstep::lockstep ALIAS lockstep)
target_compile_features(lockstep INTERFACE cxx_std_20)
target_link_libraries(lockstep INTERFACE ${rooms})

install(TARGETS lockstep ${rooms} EXPORT lockstep_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockstep)
if(TARGET lockstep_bin)
  install(TARGETS lockstep_bin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(EXPORT lockstep_targets NAMESPACE lockstep:: DESTINATION ${package_dir})
configure_package_config_file(cmake/lockstepConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lockstepConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake
              ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
        DESTINATION ${package_dir})
