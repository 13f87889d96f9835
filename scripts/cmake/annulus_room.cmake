# annulus_room(path SOURCES ... [ROOMS ...] [LINK ...] [HEADERS ...])
#
# A room is one folder of host/annulus or host/tools, compiled on its own. Its path is that below host/annulus, or
# tools/<name>. ROOMS are the rooms that it may include; tests/structure checks that its includes obey, and that every
# room it names is used. The rooms of host/annulus together make the library annulus::annulus, those of host/tools the
# library annulus_tools.
#
# HEADERS are those meant for users of the library: they are installed, and include no other header of the project.
function(annulus_room path)
  cmake_parse_arguments(room "" "" "SOURCES;ROOMS;LINK;HEADERS" ${ARGN})
  annulus_room_target(target ${path})
  add_library(${target} OBJECT ${room_SOURCES})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/host" "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(${target} PRIVATE annulus_flags PUBLIC ${room_LINK})
  if(path MATCHES "^tools/")
    set_property(GLOBAL APPEND PROPERTY ANNULUS_TOOL_ROOMS ${target})
    if(room_HEADERS)
      message(FATAL_ERROR "${path} names HEADERS, but rooms of tools are not installed. Leave them out.")
    endif()
  else()
    set_property(GLOBAL APPEND PROPERTY ANNULUS_ROOMS ${target})
    install(FILES ${room_HEADERS} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/annulus/${path}")
  endif()

  # Object libraries do not pass their objects on, so the closure of rooms is kept by hand for the tests.
  set(closure ${target})
  foreach(other IN LISTS room_ROOMS)
    annulus_room_target(other_target ${other})
    get_property(below GLOBAL PROPERTY ANNULUS_CLOSURE_${other_target})
    list(APPEND closure ${below})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set_property(GLOBAL PROPERTY ANNULUS_CLOSURE_${target} "${closure}")
endfunction()

# backends/cpu -> annulus_backends_cpu
function(annulus_room_target variable path)
  string(REPLACE "/" "_" name "annulus_${path}")
  set(${variable} ${name} PARENT_SCOPE)
endfunction()

# Links a target to a room and to everything the room uses.
function(annulus_use_room target room)
  annulus_room_target(room_target ${room})
  get_property(closure GLOBAL PROPERTY ANNULUS_CLOSURE_${room_target})
  target_link_libraries(${target} PRIVATE ${closure})
endfunction()

# annulus_kernel_source(target function files...): the text of OpenCL kernels, one file after the other, as a part of the
# program. annulus::opencl::<function>() returns it.
function(annulus_kernel_source target function)
  set(kernel_text "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    string(APPEND kernel_text "R\"kernel(${text})kernel\"\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/scripts/cmake/kernel_source.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp" @ONLY)
  target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
endfunction()
