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
