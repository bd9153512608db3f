# Texts that are compiled into the libraries as strings: the kernels for `soa gen`, the shipped
# scenarios.
# Source text of the kernels, as strings, for `soa gen`.
set(SOA_KERNEL_TEXT src/spatial/real.h src/spatial/algebra.h src/table/table_fields.h src/table/tables.h
    src/sweep/work_space.h src/table/joint_types.h src/sweep/joint.h src/sweep/steps.h src/sweep/rnea.h
    src/sweep/articulate.h src/sweep/fast/aba_fast.h src/sweep/crba.h src/sweep/kinematics.h src/sweep/lanes.h)
list(TRANSFORM SOA_KERNEL_TEXT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE kernel_files)
file(GLOB generated_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/gen/templates/*.h)

# soa_embed(LIST HEADER FILES...): makes a source file with the files as strings in LIST, which
# HEADER declares. The variable LIST is the source file.
function(soa_embed list header)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${list}.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DLIST=${list} -DHEADER=${header} "-DFILES=${ARGN}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} cmake/embed.cmake VERBATIM)
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  set(${list} ${out} PARENT_SCOPE)
endfunction()
soa_embed(soai_kernel_text src/gen/kernel_text.h ${kernel_files})
soa_embed(soai_generated_text src/gen/kernel_text.h ${generated_files})

# The shipped scenarios, as strings, for `soa sim NAME` and `soa demo`.
file(GLOB scenario_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/scenarios/*.yaml)
soa_embed(soai_scenario_text src/scenario/scenario_text.h ${scenario_files})
