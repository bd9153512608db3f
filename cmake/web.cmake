# The pages of web/, built by npm and vite. Each is one HTML file that needs nothing else:
# ${SOA_WEB_PAGES}/view.html, included in the program by apps/view/page.c. Nothing is written into
# the source tree: web/work in the build directory contains a copy and the npm packages, which are
# fetched again only when the lock file changes.
#   SOA_WEB=OFF         no pages: `soa view` and `soa report` say so
#   SOA_WEB_DIR=DIR     use the pages of DIR (web in another build directory) without building
option(SOA_WEB "build the pages of soa view and soa report (needs node and npm)" ON)
set(SOA_WEB_DIR "" CACHE PATH "directory with pages that are built already, for example build/web of another build")
find_program(SOA_NODE node)
find_program(SOA_NPM npm)
set(SOA_WEB_PAGES ${CMAKE_CURRENT_BINARY_DIR}/web)
set(web ${CMAKE_CURRENT_SOURCE_DIR}/web)
set(have_pages OFF)
file(GLOB pages CONFIGURE_DEPENDS ${web}/*.html)
if(SOA_PYTHON_PACKAGE OR (NOT SOA_WASM_MODULE AND NOT SOA_WEB_DIR)) # cmake/wasm.cmake says why; Python has no playground
  list(FILTER pages EXCLUDE REGEX "/playground.html$")
endif()
set(built)
set(made)
foreach(page ${pages})
  get_filename_component(name ${page} NAME)
  list(APPEND built ${SOA_WEB_PAGES}/${name})
  list(APPEND made ${SOA_WEB_PAGES}/work/dist/${name})
endforeach()

if(NOT SOA_WEB)
  message(STATUS "SOA_WEB is off: soa is built without its pages")
elseif(SOA_WEB_DIR)
  get_filename_component(shared "${SOA_WEB_DIR}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT EXISTS ${shared}/view.html)
    message(WARNING "SOA_WEB_DIR: there is no ${shared}/view.html: soa is built without its pages")
  else()
    if(NOT shared STREQUAL SOA_WEB_PAGES)
      if(NOT IS_SYMLINK ${SOA_WEB_PAGES})
        file(REMOVE_RECURSE ${SOA_WEB_PAGES})
      endif()
      file(CREATE_LINK ${shared} ${SOA_WEB_PAGES} SYMBOLIC)
    endif()
    set(have_pages ON)
  endif()
elseif(NOT SOA_NODE OR NOT SOA_NPM)
  message(WARNING "node or npm is not installed: soa is built without the pages of `soa view` and `soa report`")
else()
  if(IS_SYMLINK ${SOA_WEB_PAGES})
    file(REMOVE ${SOA_WEB_PAGES})
  endif()
  set(work ${SOA_WEB_PAGES}/work)
  set(stamp ${work}/packages.stamp)
  set(wanted ${web}/package.json ${web}/package-lock.json ${web}/.npmrc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${wanted})
  set(fetched 0)
  foreach(file ${wanted})
    if(${file} IS_NEWER_THAN ${stamp})
      set(fetched missing)
    endif()
  endforeach()
  if(NOT fetched EQUAL 0) # fetched now, not while building, so that a failure does not stop the rest of the build
    message(STATUS "fetching the npm packages of web/")
    file(COPY ${wanted} DESTINATION ${work})
    execute_process(COMMAND ${SOA_NPM} ci --ignore-scripts --prefer-offline --loglevel=error WORKING_DIRECTORY ${work}
                    RESULT_VARIABLE fetched OUTPUT_QUIET ERROR_VARIABLE complaint)
    if(fetched EQUAL 0)
      file(TOUCH ${stamp})
    endif()
  endif()
  if(fetched EQUAL 0)
    set(have_pages ON)
  else()
    message(WARNING "npm could not fetch the packages of web/ (${fetched}): soa is built without the pages of `soa view` and `soa report`; once npm works, configure again\n${complaint}")
  endif()
endif()

if(have_pages AND NOT SOA_WEB_DIR)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/* ${web}/test/*)
  set(list ${web}/build.mjs ${web}/vite.config.ts ${web}/tsconfig.json)
  add_custom_command(OUTPUT ${built}
    COMMAND ${CMAKE_COMMAND} -E copy ${pages} ${list} ${work}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${work}/src ${work}/test
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${web}/src ${work}/src
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${web}/test ${work}/test
    COMMAND ${CMAKE_COMMAND} -E chdir ${work} ${CMAKE_COMMAND} -E env SOA_WASM_DIR=${SOA_WASM_DIR} ${SOA_NODE} build.mjs --outDir ${work}/dist
    COMMAND ${CMAKE_COMMAND} -E copy ${made} ${SOA_WEB_PAGES}
    COMMAND ${CMAKE_COMMAND} -E touch ${built}
    DEPENDS ${stamp} ${pages} ${list} ${sources} ${SOA_WASM_MODULE} ${SOA_WASM_MODELS}
    COMMENT "the pages of web/" VERBATIM)
endif()

if(have_pages)
  add_custom_target(soa_web DEPENDS ${built})
  set(definitions "VIEW_PAGE_FILE=\"${SOA_WEB_PAGES}/view.html\"")
  if(${SOA_WEB_PAGES}/playground.html IN_LIST built AND (NOT SOA_WEB_DIR OR EXISTS ${SOA_WEB_PAGES}/playground.html))
    list(APPEND definitions "VIEW_PLAYGROUND_FILE=\"${SOA_WEB_PAGES}/playground.html\"")
  endif()
  set_source_files_properties(apps/view/page.c PROPERTIES COMPILE_DEFINITIONS "${definitions}" OBJECT_DEPENDS "${built}")
endif()
