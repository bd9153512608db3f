# What `make install` gives; everything can be moved together afterwards.
include(CMakePackageConfigHelpers)
set(SOA_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/soa)
set(SOA_HEADERS base.h spatial.h model.h graph.h dynamics.h operator.h forms.h constraint.h grasp.h taylor.h embedding.h collision.h control.h soa.h)
if(SOA_APPS)
  list(APPEND SOA_HEADERS io.h world.h journal.h scenario.h)
endif()
list(TRANSFORM SOA_HEADERS PREPEND include/soa/)
install(FILES ${SOA_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/soa)

# Library NAME and NAME_static, the export set soaNAMETargets.cmake, and OUTPUT.pc.
file(RELATIVE_PATH SOA_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
function(soa_install name output) # description, Requires, Requires.private, Libs.private
  set(targets ${name}_static)
  if(SOA_SHARED)
    list(APPEND targets ${name})
  endif()
  install(TARGETS ${targets} EXPORT ${name}Targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${name}Targets NAMESPACE soa:: DESTINATION ${SOA_PACKAGE_DIR})
  set(PC_NAME ${output})
  set(PC_DESCRIPTION ${ARGV2})
  set(PC_REQUIRES ${ARGV3})
  set(PC_REQUIRES_PRIVATE ${ARGV4})
  set(PC_LIBS_PRIVATE ${ARGV5})
  configure_file(cmake/soa.pc.in ${output}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${output}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
soa_install(soa soa "${PROJECT_DESCRIPTION}" "" "" "-lm")
if(SOA_APPS)
  soa_install(soa_io soa-io "libsoa's files: URDF, saved and shipped models, generated code" "soa" "libxml-2.0 qhull_r assimp" "-lm")
  soa_install(soa_sim soa-sim "libsoa's world: machines that move in time, and pictures of it" "soa soa-io" "libfyaml ${HDF5_MODULE_NAME}"
              "-lsundials_arkode -lsundials_cvode -lsundials_nvecserial${SOA_OPENMP_LIBS} -lm")
endif()

configure_package_config_file(cmake/soaConfig.cmake.in soaConfig.cmake INSTALL_DESTINATION ${SOA_PACKAGE_DIR})
write_basic_package_version_file(soaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/soaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/soaConfigVersion.cmake
        DESTINATION ${SOA_PACKAGE_DIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(SOA_APPS)
  install(TARGETS soa_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET soa_mpi)
    install(TARGETS soa_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  set(completion apps/soa/completion)
  install(FILES ${completion}/soa.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME soa)
  install(FILES ${completion}/_soa DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completion}/soa.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  if(NOT CMAKE_CROSSCOMPILING) # the manual page is the program's own help
    set(page ${CMAKE_CURRENT_BINARY_DIR}/soa.1)
    add_custom_command(OUTPUT ${page} COMMAND ${CMAKE_COMMAND} -DSOA=$<TARGET_FILE:soa_program> -DOUT=${page}
      -DVERSION=${PROJECT_VERSION} -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/man.cmake DEPENDS soa_program cmake/man.cmake VERBATIM)
    add_custom_target(soa_man ALL DEPENDS ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endif()
