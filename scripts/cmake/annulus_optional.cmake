# annulus_optional(name package purpose): something that a build can do without.
#
# ANNULUS_<name> is AUTO (used if it is found), ON (it must be there) or OFF (not looked for); ANNULUS_WITH_<name> then
# says whether it is used.
macro(annulus_optional name package purpose)
  set(ANNULUS_${name} AUTO CACHE STRING "${package}, for ${purpose}: AUTO (if it is found), ON (it must be) or OFF")
  set_property(CACHE ANNULUS_${name} PROPERTY STRINGS AUTO ON OFF)
  set(ANNULUS_WITH_${name} FALSE)
  if(ANNULUS_${name} MATCHES "^(AUTO|ON)$")
    find_package(${package})
    if(ANNULUS_${name} STREQUAL "ON" AND NOT ${package}_FOUND)
      message(FATAL_ERROR "ANNULUS_${name} is ON, but ${package} is not found. Install it, or set ANNULUS_${name} to AUTO.")
    endif()
  elseif(NOT ANNULUS_${name} STREQUAL "OFF")
    message(FATAL_ERROR "ANNULUS_${name} is '${ANNULUS_${name}}'. Set it to AUTO, ON or OFF.")
  endif()
  if(${package}_FOUND AND NOT ANNULUS_${name} STREQUAL "OFF")
    set(ANNULUS_WITH_${name} TRUE)
  else()
    message(STATUS "Built without ${package}, so without ${purpose}")
  endif()
endmacro()
