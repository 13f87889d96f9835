# XRT by its headers and library: a vendor's installation (by the environment variable XILINX_XRT, or in
# /opt/xilinx/xrt), or else Debian's package, whose pkg-config file names folders that do not exist.
#
#   XRT_FOUND, XRT_VERSION
#   XRT_ROOT               the folder with lib/ that XRT calls XILINX_XRT
#   XRT_DISTRIBUTION_BUILD whether it was built by a distribution: its version file then names no commit
#   XRT::coreutil          the native C++ interface (xrt::device and so on)
find_path(XRT_INCLUDE_DIR xrt/xrt_device.h HINTS ENV XILINX_XRT /opt/xilinx/xrt PATH_SUFFIXES include xrt)
find_library(XRT_COREUTIL_LIBRARY xrt_coreutil HINTS ENV XILINX_XRT /opt/xilinx/xrt PATH_SUFFIXES lib)

find_library(XRT_UUID_LIBRARY uuid)  # what xrt::uuid is made of

set(XRT_VERSION "")
set(XRT_DISTRIBUTION_BUILD FALSE)
find_file(XRT_VERSION_FILE NAMES version.h xrt/detail/version.h HINTS "${XRT_INCLUDE_DIR}" NO_DEFAULT_PATH)
if(XRT_VERSION_FILE)
  file(STRINGS "${XRT_VERSION_FILE}" lines REGEX "xrt_build_version(_hash)?\\[\\]")
  if(lines MATCHES "xrt_build_version\\[\\] = \"([0-9.]+)\"")
    set(XRT_VERSION "${CMAKE_MATCH_1}")
  endif()
  if(lines MATCHES "xrt_build_version_hash\\[\\] = \"\"")
    set(XRT_DISTRIBUTION_BUILD TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XRT REQUIRED_VARS XRT_COREUTIL_LIBRARY XRT_INCLUDE_DIR XRT_UUID_LIBRARY
                                  VERSION_VAR XRT_VERSION)

if(XRT_FOUND)
  cmake_path(GET XRT_COREUTIL_LIBRARY PARENT_PATH XRT_LIBRARY_DIR)
  cmake_path(GET XRT_LIBRARY_DIR PARENT_PATH XRT_ROOT)
  if(NOT TARGET XRT::coreutil)
    find_package(Threads REQUIRED)
    add_library(XRT::coreutil UNKNOWN IMPORTED GLOBAL)
    set_target_properties(XRT::coreutil PROPERTIES IMPORTED_LOCATION "${XRT_COREUTIL_LIBRARY}"
                                                   INTERFACE_INCLUDE_DIRECTORIES "${XRT_INCLUDE_DIR}"
                                                   INTERFACE_LINK_LIBRARIES "Threads::Threads;${XRT_UUID_LIBRARY}")
  endif()
endif()
mark_as_advanced(XRT_INCLUDE_DIR XRT_COREUTIL_LIBRARY XRT_UUID_LIBRARY XRT_VERSION_FILE)
