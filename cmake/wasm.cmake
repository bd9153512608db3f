# The playground: libsoa compiled to WebAssembly (a separate build in wasm/, through emcmake), and
# its shipped machines. Sets SOA_WASM_MODULE and SOA_WASM_MODELS, files from which web/ makes one
# page; both are empty without emcc.
set(SOA_WASM_MODULE)
set(SOA_WASM_MODELS)
option(SOA_PLAYGROUND "build the playground, where emcc is installed" ON)
if(NOT SOA_PLAYGROUND OR SOA_SANITIZE OR SOA_WEB_DIR OR (DEFINED SOA_WEB AND NOT SOA_WEB)) # options of cmake/web.cmake
  return()
endif()
find_program(SOA_EMCC emcc)
find_program(SOA_EMCMAKE emcmake)
if(NOT SOA_EMCC OR NOT SOA_EMCMAKE)
  message(STATUS "emcc is not installed: no playground")
  return()
endif()

set(SOA_WASM_DIR ${CMAKE_CURRENT_BINARY_DIR}/wasm)
set(SOA_WASM_MODULE ${SOA_WASM_DIR}/playground.js)
file(GLOB_RECURSE wasm_sources CONFIGURE_DEPENDS include/soa/*.h src/base/*.[ch] src/spatial/*.[ch] src/model/*.[ch]
     src/table/*.[ch] src/sweep/*.h src/dynamics/*.[ch] src/operator/*.[ch] apps/playground/*.[ch])
list(FILTER wasm_sources EXCLUDE REGEX "playground/models.c$")
add_custom_command(OUTPUT ${SOA_WASM_MODULE}
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/scripts/wasm.sh ${SOA_WASM_DIR} ${CMAKE_GENERATOR}
  DEPENDS ${wasm_sources} apps/output/out.c apps/output/number.c cmake/wasm_module.cmake scripts/wasm.sh
  COMMENT "Compiling libsoa to WebAssembly" VERBATIM)

add_executable(soa_playground_models apps/playground/models.c apps/output/out.c apps/output/number.c)
target_compile_definitions(soa_playground_models PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(soa_playground_models PRIVATE soa_warnings soa_io_static m)
set(SOA_WASM_MODELS ${SOA_WASM_DIR}/models.json)
add_custom_command(OUTPUT ${SOA_WASM_MODELS}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${SOA_WASM_DIR}
  COMMAND soa_playground_models ${SOA_WASM_MODELS}
  DEPENDS soa_playground_models VERBATIM)
add_custom_target(soa_wasm DEPENDS ${SOA_WASM_MODULE} ${SOA_WASM_MODELS})
