# What `cmake --install` puts where: libmycel and mycel.h, a CMake package (find_package(mycel), target mycel::mycel), a
# pkg-config file, and the programs. Included after all targets are declared.
if(NOT TARGET mycel)
  return()
endif()
include(CMakePackageConfigHelpers)
set(MYCEL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mycel)

target_include_directories(mycel INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS mycel EXPORT mycelTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mycel)
install(EXPORT mycelTargets NAMESPACE mycel:: DESTINATION ${MYCEL_CMAKE_DIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mycelConfig.cmake.in
  ${PROJECT_BINARY_DIR}/generated/mycelConfig.cmake INSTALL_DESTINATION ${MYCEL_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/mycelConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)  # until 1.0 a minor version may change the interface
install(FILES ${PROJECT_BINARY_DIR}/generated/mycelConfig.cmake ${PROJECT_BINARY_DIR}/generated/mycelConfigVersion.cmake
  DESTINATION ${MYCEL_CMAKE_DIR})

# The prefix as seen from where mycel.pc lies, so that the tree can be moved.
file(RELATIVE_PATH MYCEL_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/mycel.pc.in ${PROJECT_BINARY_DIR}/generated/mycel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/mycel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The MPI entry point, once per MPI: link the one of your MPI beside libmycel.
foreach(mpi openmpi mpich)
  if(TARGET mycel_mpi_${mpi})
    install(TARGETS mycel_mpi_${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/bindings/mpi/mycel_mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mycel)
  endif()
endforeach()

# Not beside libmycel, where a program would find them that was not told to.
install(TARGETS mycel_nccl mycel_rccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/mycel/nccl)
install(FILES ${PROJECT_SOURCE_DIR}/bindings/nccl/nccl.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mycel/nccl)

get_property(programs GLOBAL PROPERTY MYCEL_PROGRAMS)
foreach(program IN LISTS programs)
  if(program STREQUAL "mycel_cli" OR program MATCHES "_perf$")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
