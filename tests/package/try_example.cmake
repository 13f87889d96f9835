# The example's pattern of a simulated frame must be the program's, digit by digit: both print the shortest text
# that reads back as the same double.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}/frames")
run("${PROGRAM}" simulate --output "${SCRATCH}/frames" --detector Pilatus100k --frames 1 --quiet)
set(poni "${SCRATCH}/frames/scan.poni")
set(frame "${SCRATCH}/frames/scan_00001.cbf")
run("${PROGRAM}" integrate --poni "${poni}" --unit q_A^-1 --polarization 0.99 --format xy
    --output "${SCRATCH}/frames/scan.xy" --quiet "${frame}")
run("${EXAMPLE}" "${poni}" "${frame}")

file(STRINGS "${SCRATCH}/frames/scan.xy" lines REGEX "^[^#]")
list(LENGTH lines bins)
string(REGEX REPLACE "[ ;]+" " " expected "${lines}")
string(REGEX REPLACE "[ \n]+" " " found "${output}")
string(STRIP "${expected}" expected)
string(STRIP "${found}" found)
if(NOT bins EQUAL 1000 OR NOT found STREQUAL expected)
  message(FATAL_ERROR "the example's pattern is not the program's (${bins} bins)\n${output}")
endif()

execute_process(COMMAND "${EXAMPLE}" "${poni}" "${SCRATCH}/absent.cbf" RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 1 OR NOT errors MATCHES "absent.cbf")
  message(FATAL_ERROR "a missing file gave ${status} and: ${errors}")
endif()
