# libsoa-io (files, shipped models, generator), libsoa-sim (the world), and the soa program.
find_package(PkgConfig REQUIRED)
pkg_check_modules(XML2 REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
find_package(SUNDIALS REQUIRED COMPONENTS arkode nvecserial)

# The kernels' own text, as strings, for `soa gen`.
set(SOA_KERNEL_TEXT src/spatial/real.h src/spatial/algebra.h src/dynamics/view.h src/dynamics/views.h
    src/dynamics/kernel.h src/dynamics/joint_types.h src/dynamics/joint.h src/dynamics/steps.h src/dynamics/rnea.h
    src/dynamics/aba.h src/dynamics/crba.h src/dynamics/kinematics.h)
set(embedded ${CMAKE_CURRENT_BINARY_DIR}/kernel_text.c)
list(TRANSFORM SOA_KERNEL_TEXT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE kernel_files)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -DOUT=${embedded} "-DFILES=${kernel_files}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${kernel_files} cmake/embed.cmake VERBATIM)

file(GLOB SOA_IO CONFIGURE_DEPENDS src/io/*.c models/*.c)
file(GLOB SOA_WORLD CONFIGURE_DEPENDS src/world/*.c)
set_source_files_properties(${embedded} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
foreach(kind SHARED STATIC)
  string(TOLOWER "_${kind}" suffix)
  string(REPLACE "_shared" "" suffix "${suffix}")
  soa_library(soa_io${suffix} ${kind} soa-io ${SOA_IO} ${embedded})
  soa_library(soa_sim${suffix} ${kind} soa-sim ${SOA_WORLD})
  foreach(lib soa_io${suffix} soa_sim${suffix})
    target_compile_definitions(${lib} PRIVATE _POSIX_C_SOURCE=200809L)
    target_link_libraries(${lib} PRIVATE soa_warnings m)
  endforeach()
  target_link_libraries(soa_io${suffix} PUBLIC soa${suffix} PRIVATE PkgConfig::XML2)
  target_link_libraries(soa_sim${suffix} PUBLIC soa${suffix} PRIVATE SUNDIALS::arkode SUNDIALS::nvecserial)
endforeach()

file(GLOB SOA_APP CONFIGURE_DEPENDS apps/soa/*.c)
add_executable(soa_program ${SOA_APP})
set_target_properties(soa_program PROPERTIES OUTPUT_NAME soa)
target_compile_definitions(soa_program PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(soa_program PRIVATE soa_warnings soa_io_static soa_sim_static PkgConfig::JANSSON m)
