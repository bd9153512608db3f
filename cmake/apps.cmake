# libsoa-io (files, shipped models, generator), libsoa-sim (the world), and the soa program.
find_package(PkgConfig REQUIRED)
pkg_check_modules(XML2 REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(FYAML REQUIRED IMPORTED_TARGET libfyaml)
pkg_search_module(HDF5 REQUIRED IMPORTED_TARGET hdf5-serial hdf5)
pkg_check_modules(QHULL REQUIRED IMPORTED_TARGET qhull_r)
pkg_check_modules(ASSIMP REQUIRED IMPORTED_TARGET assimp)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo cairo-svg cairo-pdf cairo-png)
find_package(SUNDIALS REQUIRED COMPONENTS arkode cvode nvecserial)
find_package(OpenMP QUIET COMPONENTS C) # without it the executor of soa/world.h runs on one core

include(texts)

# A library with its own objects, compiled once for static and shared. The remaining arguments are
# the libraries it links to.
function(soa_upper_library name output exported sources)
  add_library(${name}_objects OBJECT ${sources})
  target_include_directories(${name}_objects PRIVATE include)
  target_compile_definitions(${name}_objects PRIVATE _POSIX_C_SOURCE=200809L)
  target_link_libraries(${name}_objects PRIVATE soa_warnings ${ARGN})
  soa_harden(${name}_objects)
  soa_library(${name} ${output} ${exported} $<TARGET_OBJECTS:${name}_objects>)
  target_link_libraries(${name}_static PUBLIC soa_static PRIVATE ${ARGN} m)
  if(SOA_SHARED)
    target_link_libraries(${name} PUBLIC soa PRIVATE ${ARGN} m)
  endif()
endfunction()
file(GLOB SOA_IO CONFIGURE_DEPENDS src/io/*.c src/gen/*.c src/stock/*.c)
file(GLOB SOA_WORLD CONFIGURE_DEPENDS src/scenario/*.c src/record/*.c src/world/*.c)
soa_upper_library(soa_io soa-io io "${SOA_IO};${soai_kernel_text};${soai_generated_text}" PkgConfig::XML2 PkgConfig::QHULL PkgConfig::ASSIMP)
set(SOA_OPENMP)
set(SOA_OPENMP_LIBS)
if(OpenMP_C_FOUND AND NOT SOA_SANITIZE MATCHES thread) # the thread sanitizer does not know its barriers
  set(SOA_OPENMP OpenMP::OpenMP_C)
  set(SOA_OPENMP_LIBS " ${OpenMP_C_FLAGS}")
endif()
soa_upper_library(soa_sim soa-sim sim "${SOA_WORLD};${soai_scenario_text}" SUNDIALS::arkode SUNDIALS::cvode SUNDIALS::nvecserial PkgConfig::FYAML
                  PkgConfig::HDF5 ${SOA_OPENMP})
target_link_libraries(soa_sim_static PUBLIC soa_io_static) # scenarios open models
if(SOA_SHARED)
  target_link_libraries(soa_sim PUBLIC soa_io)
endif()

# The pages that the program shows (web/; the playground's page contains libsoa), for
# apps/view/page.c.
include(cmake/wasm.cmake)
include(cmake/web.cmake)

# The program: main.c and a library with the rest, which the fuzzers use too.
file(GLOB SOA_APP CONFIGURE_DEPENDS apps/soa/*.c apps/soa/*/*.c apps/output/*.c apps/view/*.c)
list(FILTER SOA_APP EXCLUDE REGEX "/(main|out_of_memory).c$") # only for programs: it replaces malloc
find_package(Threads REQUIRED)
pkg_check_modules(WEBSOCKETS IMPORTED_TARGET libwebsockets)
if(NOT WEBSOCKETS_FOUND)
  message(WARNING "libwebsockets is not installed: `soa view` of this build can only say so (scripts/setup.sh build installs it)")
  list(FILTER SOA_APP EXCLUDE REGEX "/view/server\\.c$")
endif()
add_library(soa_app STATIC ${SOA_APP})
target_include_directories(soa_app PUBLIC apps/soa apps/soa/draw apps/soa/operator_page apps/output apps/view)
target_compile_definitions(soa_app PRIVATE _POSIX_C_SOURCE=200809L $<$<BOOL:${SOA_BATCH}>:SOA_HAVE_BATCH>)
target_link_libraries(soa_app PRIVATE soa_warnings PUBLIC soa_io_static soa_sim_static PkgConfig::JANSSON PkgConfig::CAIRO Threads::Threads m)
if(WEBSOCKETS_FOUND)
  target_compile_definitions(soa_app PRIVATE SOA_HAVE_VIEW)
  target_link_libraries(soa_app PRIVATE PkgConfig::WEBSOCKETS)
endif()
add_executable(soa_program apps/soa/main.c apps/soa/out_of_memory.c)
set_target_properties(soa_program PROPERTIES OUTPUT_NAME soa)
target_compile_definitions(soa_program PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(soa_program PRIVATE soa_warnings soa_app)
soa_harden(soa_app soa_program)

# soa-mpi: the same sweep with ranks, if MPI is installed. soa itself does not need MPI.
if(NOT SOA_SANITIZE)
  find_package(MPI QUIET COMPONENTS C)
endif()
if(MPI_C_FOUND)
  add_executable(soa_mpi apps/mpi/main.c apps/soa/out_of_memory.c)
  set_target_properties(soa_mpi PROPERTIES OUTPUT_NAME soa-mpi)
  target_compile_definitions(soa_mpi PRIVATE _POSIX_C_SOURCE=200809L)
  target_link_libraries(soa_mpi PRIVATE soa_warnings soa_app MPI::MPI_C)
  soa_harden(soa_mpi)
endif()

# The tables and the picture of docs/theory/operation-counts.md; `make counts` runs it.
add_executable(soa_counts apps/counts/counts.c)
target_link_libraries(soa_counts PRIVATE soa_warnings soa_io_static soa_sim_static m)

# The pictures of docs/grapple.md; `make grapple-figures` runs it.
add_executable(soa_grapple_figures apps/grapple/figures.c)
target_link_libraries(soa_grapple_figures PRIVATE soa_warnings soa_sim_static m)
