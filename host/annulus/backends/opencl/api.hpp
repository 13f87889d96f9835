// OpenCL's C++ bindings as this project uses them: version 1.2, faults as exceptions. Nobody else includes
// them.
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120

#include <CL/opencl.hpp>

#include <string>

namespace annulus::opencl {

// "CL_OUT_OF_RESOURCES", or the number of a code that has no name here.
std::string name_of_code(cl_int code);

// "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES".
std::string describe(const cl::Error& error);

// Whether less work at a time might succeed.
bool is_out_of_memory(const cl::Error& error);

}  // namespace annulus::opencl
