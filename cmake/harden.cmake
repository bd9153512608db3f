# Hardening of what is shipped: stack protector, checked libc calls, random addresses, tables
# read-only after loading. The kernels (src/dynamics/compiled_sweeps.c, objects soa_kernels_*) are
# compiled without these options: they call no libc function that could be checked, their sizes were
# checked by the public calls, and they take most of the time. tests/program/test_elf.sh reads the
# result from the files.
set(SOA_HARDEN_DEFAULT OFF)
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT SOA_SANITIZE AND NOT SOA_FUZZ AND NOT SOA_SMALL) # sanitizers check the same calls
  set(SOA_HARDEN_DEFAULT ON)
endif()
option(SOA_HARDEN "stack protector, _FORTIFY_SOURCE, RELRO, immediate binding, PIE" ${SOA_HARDEN_DEFAULT})
if(SOA_HARDEN)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C)
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

function(soa_harden) # targets
  if(SOA_HARDEN)
    foreach(target ${ARGN})
      # _FORTIFY_SOURCE works only with optimisation, which all build types here have.
      target_compile_options(${target} PRIVATE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    endforeach()
  endif()
endfunction()
