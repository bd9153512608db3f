# Toolchain file for the Cortex-M4 with its single-precision unit: float in hardware, double in
# software.
set(SOA_CPU_FLAGS "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16")
include(${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake)
