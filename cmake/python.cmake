# The compiled part of the Python package: one extension module, soa._core, that contains libsoa,
# libsoa-io, libsoa-sim and the page of reports, and exports all public functions for ctypes.
#
# The libraries it uses are linked statically where their archives are installed (Debian's -dev
# packages have them), so that a wheel needs nothing but libc and libm.  Three things differ then:
#   archives   Debian compiles them for programs, not for shared objects: data of libc (stdin,
#              stdout, stderr) cannot be reached from there.  A copy of each archive uses pointers
#              of our own instead (python/core/standard_streams.c).
#   ICU        libxml2 converts rare encodings by ICU, whose tables are 31 MB.  Without ICU, UTF-8,
#              UTF-16, Latin-1 and ASCII are read, other encodings refused by name.
#   assimp     has no archive.  It is loaded at run time if it is installed; without it meshes are
#              refused with a message.
# HDF5 is not included: the Python package writes HDF5 with h5py.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
# scikit-build-core knows only "Development.Module" for the stable ABI
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
execute_process(COMMAND ${Python_EXECUTABLE} -c "import numpy; print(numpy.get_include())"
                OUTPUT_VARIABLE numpy_include OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
include(texts)
include(web)

file(GLOB python_core CONFIGURE_DEPENDS python/core/*.c)
file(GLOB python_library CONFIGURE_DEPENDS src/io/*.c src/gen/*.c src/stock/*.c src/scenario/*.c src/record/*.c src/world/*.c)
list(FILTER python_library EXCLUDE REGEX "record/export_(hdf5|driver).c$")
set(python_view apps/output/damage.c apps/output/number.c apps/output/out.c apps/view/digest.c apps/view/frame.c apps/view/machine.c
    apps/view/page.c apps/view/replay.c apps/view/report.c apps/view/scene.c apps/view/summary.c)
set(python_sources ${python_core} ${python_library} ${python_view} ${soai_kernel_text} ${soai_generated_text} ${soai_scenario_text}
)
if(NOT SOA_PREBUILT)
  list(APPEND python_sources $<TARGET_OBJECTS:soa_core> ${SOA_KERNEL_OBJECTS})
endif()

# free-threaded Python has no stable ABI yet
execute_process(COMMAND ${Python_EXECUTABLE} -c "import sysconfig; print(int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"
                OUTPUT_VARIABLE free_threaded OUTPUT_STRIP_TRAILING_WHITESPACE)
if(SKBUILD_SABI_COMPONENT AND NOT free_threaded)
  Python_add_library(soa_python MODULE USE_SABI 3.11 WITH_SOABI ${python_sources})
else()
  Python_add_library(soa_python MODULE WITH_SOABI ${python_sources})
endif()
set_target_properties(soa_python PROPERTIES OUTPUT_NAME _core)
target_include_directories(soa_python PRIVATE include apps/output apps/view)
target_include_directories(soa_python SYSTEM PRIVATE ${numpy_include})
target_compile_definitions(soa_python PRIVATE _POSIX_C_SOURCE=200809L SOAI_ASSIMP_AT_RUN_TIME)
if(SOA_PREBUILT) # its symbols stay visible, those of the other archives do not
  target_link_libraries(soa_python PRIVATE -Wl,--whole-archive ${SOA_PREBUILT}/libsoa.a -Wl,--no-whole-archive)
endif()
target_link_options(soa_python PRIVATE LINKER:--gc-sections LINKER:-s)
target_compile_options(soa_python PRIVATE -Wall -Wextra -Wshadow)

# --- libraries
# soa_python_archive(VARIABLE NAMES...): a copy of the first archive found that can be part of a
# shared object; empty where there is none.
function(soa_python_archive variable)
  find_library(${variable}_archive NAMES ${ARGN})
  set(${variable} "" PARENT_SCOPE)
  if(NOT ${variable}_archive)
    return()
  endif()
  get_filename_component(name ${${variable}_archive} NAME)
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/archives/${name})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/archives)
  set(renamed)
  foreach(stream stdin stdout stderr)
    list(APPEND renamed --redefine-sym ${stream}=soai_${stream})
  endforeach()
  execute_process(COMMAND ${CMAKE_NM} --undefined-only ${${variable}_archive} OUTPUT_VARIABLE symbols ERROR_QUIET)
  string(REGEX MATCHALL "(ucnv|UCNV)_[A-Za-z_]+_[0-9]+" converters "${symbols}")
  list(REMOVE_DUPLICATES converters)
  foreach(symbol ${converters}) # the number is ICU's version
    string(REGEX REPLACE "_[0-9]+$" "" plain ${symbol})
    list(APPEND renamed --redefine-sym ${symbol}=soai_${plain})
  endforeach()
  execute_process(COMMAND ${CMAKE_OBJCOPY} ${renamed} ${${variable}_archive} ${copy} COMMAND_ERROR_IS_FATAL ANY)
  target_link_options(soa_python PRIVATE LINKER:--exclude-libs,${name})
  set(${variable} ${copy} PARENT_SCOPE)
endfunction()

# soa_python_link(WHAT PKG-CONFIG-MODULE ARCHIVES...): the archives, or else the shared library
function(soa_python_link what module)
  pkg_check_modules(${what} REQUIRED ${module})
  target_include_directories(soa_python SYSTEM PRIVATE ${${what}_INCLUDE_DIRS})
  set(archives)
  foreach(name ${ARGN})
    soa_python_archive(${what}_${name} lib${name}.a)
    if(NOT ${what}_${name})
      message(STATUS "lib${name}.a is not installed: the Python package uses ${module} as a shared library")
      target_link_libraries(soa_python PRIVATE ${${what}_LINK_LIBRARIES})
      return()
    endif()
    list(APPEND archives ${${what}_${name}})
  endforeach()
  target_link_libraries(soa_python PRIVATE ${archives})
endfunction()
soa_python_link(XML2 libxml-2.0 xml2 lzma z)
soa_python_link(FYAML libfyaml fyaml)
soa_python_link(QHULL qhull_r qhullstatic_r)
soa_python_link(JANSSON jansson jansson)
find_package(SUNDIALS REQUIRED COMPONENTS arkode cvode nvecserial)
foreach(name arkode cvode nvecserial)
  soa_python_archive(SUNDIALS_${name} libsundials_${name}.a)
  if(SUNDIALS_${name})
    target_link_libraries(soa_python PRIVATE ${SUNDIALS_${name}})
  else()
    target_link_libraries(soa_python PRIVATE SUNDIALS::${name})
  endif()
endforeach()
pkg_check_modules(ASSIMP REQUIRED assimp)
target_include_directories(soa_python SYSTEM PRIVATE ${ASSIMP_INCLUDE_DIRS})
target_link_libraries(soa_python PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)

# --- the C interface for ctypes, from the headers
file(GLOB python_headers CONFIGURE_DEPENDS include/soa/*.h)
set(bindings ${CMAKE_CURRENT_BINARY_DIR}/_c.py)
add_custom_command(OUTPUT ${bindings}
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/python/generate_bindings.py ${CMAKE_C_COMPILER}
          ${CMAKE_CURRENT_SOURCE_DIR}/include ${bindings}
  DEPENDS python/generate_bindings.py ${python_headers} VERBATIM)
add_custom_target(soa_python_bindings ALL DEPENDS ${bindings})

install(TARGETS soa_python DESTINATION soa)
install(FILES ${bindings} DESTINATION soa)
