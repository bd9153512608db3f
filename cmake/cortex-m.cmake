# Shared by the toolchain files for Cortex-M: GNU's compiler for bare Arm (Debian:
# gcc-arm-none-eabi, libnewlib-arm-none-eabi). SOA_CPU_FLAGS is set by the file of the processor.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "${SOA_CPU_FLAGS}")
# A program cannot be linked without the board's linker script, so CMake tests the compiler with a
# library.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
