# FFTW in single and double precision by its libraries and header: Debian installs no configuration of it that names them.
find_path(FFTW3_INCLUDE_DIR fftw3.h)
find_library(FFTW3_SINGLE_LIBRARY fftw3f)
find_library(FFTW3_DOUBLE_LIBRARY fftw3)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW3 REQUIRED_VARS FFTW3_SINGLE_LIBRARY FFTW3_DOUBLE_LIBRARY FFTW3_INCLUDE_DIR)

foreach(precision single double)
  string(TOUPPER ${precision} name)
  if(FFTW3_FOUND AND NOT TARGET FFTW3::${precision})
    add_library(FFTW3::${precision} UNKNOWN IMPORTED)
    set_target_properties(FFTW3::${precision} PROPERTIES IMPORTED_LOCATION "${FFTW3_${name}_LIBRARY}"
                                                         INTERFACE_INCLUDE_DIRECTORIES "${FFTW3_INCLUDE_DIR}")
  endif()
endforeach()
mark_as_advanced(FFTW3_INCLUDE_DIR FFTW3_SINGLE_LIBRARY FFTW3_DOUBLE_LIBRARY)
