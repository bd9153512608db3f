# Writes the files of FILES as C strings into OUT: const soai_text LIST[], in order, ending with
# NULL, declared in HEADER.
set(text "/* made by cmake/embed.cmake */\n#include \"${CMAKE_CURRENT_LIST_DIR}/../${HEADER}\"\nconst soai_text ${LIST}[] = {\n")
foreach(file ${FILES})
  file(READ ${file} content)
  string(REPLACE "\\" "\\\\" content "${content}")
  string(REPLACE "\"" "\\\"" content "${content}")
  string(REPLACE "\n" "\\n\"\n\"" content "${content}")
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE "\\.yaml$" "" name ${name}) # the name of grapple.yaml is grapple
  string(APPEND text "{\"${name}\",\n\"${content}\"},\n")
endforeach()
string(APPEND text "{0, 0}};\n")
file(WRITE ${OUT} "${text}")
