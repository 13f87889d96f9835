# Compiler settings shared by every target of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Constants of the kernels (hls/config.hpp).
set(ANNULUS_KERNEL_BINS 4096 CACHE STRING "Bins that a kernel's memories hold: a power of two up to 65536")
set(ANNULUS_KERNEL_VARIANCE 1 CACHE STRING "1: kernels sum the variance too; 0: half the memories")

set(ANNULUS_SANITIZE "" CACHE STRING "Sanitizers to compile with, as for -fsanitize= (empty: none)")

# One interface target carries the flags, so that installed headers never impose them on users.
add_library(annulus_flags INTERFACE)
target_compile_options(annulus_flags INTERFACE -Wall -Wextra -Werror -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Of libstdc++ 12, whose std::stable_sort uses a function that it deprecates itself.
  target_compile_options(annulus_flags INTERFACE -Wno-deprecated-declarations)
endif()

# Tests: the same warnings. Of the sanitizers they leave out UndefinedBehavior, which watches the code under test
# but would double the time to compile GoogleTest's macros.
add_library(annulus_test_flags INTERFACE)
target_compile_options(annulus_test_flags INTERFACE -Wall -Wextra -Werror -ffp-contract=off -O1)

# Programs with a command line: as the rooms, but likewise without UndefinedBehavior, for CLI11's sake. What they do
# takes no time; CLI11 and JSON take a third less to compile like this.
add_library(annulus_program_flags INTERFACE)
target_compile_options(annulus_program_flags INTERFACE -Wall -Wextra -Werror -ffp-contract=off $<$<CONFIG:Release>:-O1>)

if(ANNULUS_SANITIZE)
  string(REPLACE ",undefined" "" sanitize_tests "${ANNULUS_SANITIZE}")
  foreach(flags annulus_test_flags annulus_program_flags)
    target_compile_options(${flags} INTERFACE -fsanitize=${sanitize_tests} -fno-omit-frame-pointer)
    target_link_options(${flags} INTERFACE -fsanitize=${ANNULUS_SANITIZE})
  endforeach()
  target_compile_options(annulus_flags INTERFACE -fsanitize=${ANNULUS_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(annulus_flags INTERFACE -fsanitize=${ANNULUS_SANITIZE})
endif()
