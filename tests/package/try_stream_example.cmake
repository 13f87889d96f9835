# A lamp of 109 counts makes patterns of 109, whatever the geometry: the example's stream, sink and points work.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}/frames")
run("${PROGRAM}" simulate --output "${SCRATCH}/frames" --detector Pilatus100k --frames 1 --quiet)
run("${STREAM_EXAMPLE}" "${SCRATCH}/frames/scan.poni")
string(REGEX MATCHALL "[^\n]+" lines "${output}")
list(LENGTH lines frames)
list(GET lines 0 first)
list(GET lines 9 last)
if(NOT frames EQUAL 10 OR NOT first STREQUAL "lamp, frame 0: 0 V, brightest bin 100"
   OR NOT last STREQUAL "lamp, frame 9: 4.5 V, brightest bin 109")
  message(FATAL_ERROR "the example printed other things:\n${output}")
endif()
