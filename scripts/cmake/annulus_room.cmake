# annulus_room(name SOURCES ... [ROOMS ...] [LINK ...])
#
# A room is one folder of host/annulus, compiled on its own as annulus_<name>. ROOMS are the rooms it may
# use; tests/structure checks that their includes obey. All rooms together make the library
# annulus::annulus.
function(annulus_room name)
  cmake_parse_arguments(room "" "" "SOURCES;ROOMS;LINK" ${ARGN})
  add_library(annulus_${name} OBJECT ${room_SOURCES})
  target_include_directories(annulus_${name} PUBLIC "${PROJECT_SOURCE_DIR}/host" "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(annulus_${name} PRIVATE annulus_flags PUBLIC ${room_LINK})
  set_property(GLOBAL APPEND PROPERTY ANNULUS_ROOMS annulus_${name})

  # Object libraries do not pass their objects on, so the closure of rooms is kept by hand for the tests.
  set(closure annulus_${name})
  foreach(other IN LISTS room_ROOMS)
    get_property(below GLOBAL PROPERTY ANNULUS_CLOSURE_${other})
    list(APPEND closure ${below})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set_property(GLOBAL PROPERTY ANNULUS_CLOSURE_${name} "${closure}")
endfunction()

# Links a target to a room and to everything the room uses.
function(annulus_use_room target room)
  get_property(closure GLOBAL PROPERTY ANNULUS_CLOSURE_${room})
  target_link_libraries(${target} PRIVATE ${closure})
endfunction()
