# PLplot by its library and header. The configuration that PLplot installs names the files of all of its
# bindings and drivers, and fails where a system has packaged them apart, as Debian does.
find_path(PLPLOT_INCLUDE_DIR plplot/plplot.h)
find_library(PLPLOT_LIBRARY plplot)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(plplot REQUIRED_VARS PLPLOT_LIBRARY PLPLOT_INCLUDE_DIR)

if(plplot_FOUND AND NOT TARGET PLPLOT::plplot)
  add_library(PLPLOT::plplot UNKNOWN IMPORTED)
  set_target_properties(PLPLOT::plplot PROPERTIES IMPORTED_LOCATION "${PLPLOT_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${PLPLOT_INCLUDE_DIR}")
endif()
mark_as_advanced(PLPLOT_INCLUDE_DIR PLPLOT_LIBRARY)
