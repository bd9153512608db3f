# The playground's module (configured by emcmake, see cmake/wasm.cmake): libsoa and apps/playground
# as one JavaScript file with the WebAssembly inside, for pages and for node. No file system; memory
# grows to at most 512 MB. Linked with -O1: -O2 takes 13 s more and makes it 6 % smaller.
file(GLOB playground CONFIGURE_DEPENDS apps/playground/*.c)
list(FILTER playground EXCLUDE REGEX "/models.c$")
add_executable(soa_playground ${playground} apps/output/out.c apps/output/number.c)
set_target_properties(soa_playground PROPERTIES OUTPUT_NAME playground SUFFIX .js)
target_link_libraries(soa_playground PRIVATE soa_warnings soa_static)
target_link_options(soa_playground PRIVATE -O1 --no-entry -sSINGLE_FILE=1 -sMODULARIZE=1 -sEXPORT_NAME=soaPlayground
  -sENVIRONMENT=web,node -sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=536870912 -sTOTAL_STACK=1048576
  -sMALLOC=emmalloc -sSUPPORT_LONGJMP=0 -sNODEJS_CATCH_EXIT=0 -sNODEJS_CATCH_REJECTION=0 -sINCOMING_MODULE_JS_API=[] -sEXPORTED_FUNCTIONS=_malloc,_free
  -sEXPORTED_RUNTIME_METHODS=UTF8ToString,stringToUTF8,lengthBytesUTF8)
