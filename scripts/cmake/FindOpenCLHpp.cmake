# OpenCL with its C++ bindings, which are packaged apart from the headers and the loader.
find_package(OpenCL QUIET)
find_path(OPENCL_HPP_INCLUDE_DIR CL/opencl.hpp HINTS ${OpenCL_INCLUDE_DIRS})

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenCLHpp REQUIRED_VARS OpenCL_LIBRARY OPENCL_HPP_INCLUDE_DIR)

if(OpenCLHpp_FOUND)
  target_include_directories(OpenCL::OpenCL SYSTEM INTERFACE "${OPENCL_HPP_INCLUDE_DIR}")
endif()
mark_as_advanced(OPENCL_HPP_INCLUDE_DIR)
