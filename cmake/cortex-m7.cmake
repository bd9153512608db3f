# Toolchain file for the Cortex-M7 with its double-precision unit: float and double in hardware.
set(SOA_CPU_FLAGS "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16")
include(${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake)
