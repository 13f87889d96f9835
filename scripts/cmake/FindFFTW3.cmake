# FFTW in single precision by its library and header: Debian installs no configuration of it that names the library.
find_path(FFTW3_INCLUDE_DIR fftw3.h)
find_library(FFTW3_SINGLE_LIBRARY fftw3f)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW3 REQUIRED_VARS FFTW3_SINGLE_LIBRARY FFTW3_INCLUDE_DIR)

if(FFTW3_FOUND AND NOT TARGET FFTW3::single)
  add_library(FFTW3::single UNKNOWN IMPORTED)
  set_target_properties(FFTW3::single PROPERTIES IMPORTED_LOCATION "${FFTW3_SINGLE_LIBRARY}"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${FFTW3_INCLUDE_DIR}")
endif()
mark_as_advanced(FFTW3_INCLUDE_DIR FFTW3_SINGLE_LIBRARY)
