# Installs this build, builds a project that knows the installation only, and runs what came out.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${SCRATCH}/consumer" -G "${GENERATOR}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/consumer")

set(PROGRAM "${SCRATCH}/prefix/bin/annulus")
set(EXAMPLE "${SCRATCH}/consumer/example")
include("${CMAKE_CURRENT_LIST_DIR}/try_example.cmake")
set(STREAM_EXAMPLE "${SCRATCH}/consumer/stream_example")
include("${CMAKE_CURRENT_LIST_DIR}/try_stream_example.cmake")

# The cards are found from where the program is, not from where it was built.
run("${PROGRAM}" model-report --poni "${poni}" --frames 1 "${frame}")
if(NOT output MATCHES "Alveo U50: [0-9.]+ frames/s" OR NOT EXISTS "${SCRATCH}/prefix/share/annulus/platform/u50/card.json")
  message(FATAL_ERROR "the installed program does not report on the installed cards\n${output}")
endif()
