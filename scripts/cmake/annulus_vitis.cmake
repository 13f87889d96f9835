# Targets of the vendor's flow (docs/vendor_flow.md), only where Vitis is installed:
#
#   synth_<kernel>        C synthesis, packed as an .xo
#   csim_vitis_<kernel>   the testbench with the vendor's compiler and headers
#   cosim_<kernel>        the testbench against the synthesised RTL
#   hw_emu, hw            .xclbin of all kernels for ANNULUS_CARD; hw_emu_<kernel>, hw_<kernel> for one
#
# Every run is kept in a log, and scripts/check_hls_log decides whether it was good: a tool's exit code does not tell.
# What a tool makes has its final name only after that.

block()
get_filename_component(annulus_root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# 2023.2 is the first with vitis-run and the package.output settings that hls_config.cfg.in uses.
find_package(Vitis 2023.2 QUIET)
if(NOT Vitis_FOUND)
  if(Vitis_VERSION AND Vitis_VERSION VERSION_LESS 2023.2)
    message(STATUS "Vitis ${Vitis_VERSION} is older than 2023.2: no targets for FPGA cards")
  else()
    message(STATUS "Vitis not found or not whole: no targets for FPGA cards (source its settings64.sh to get them)")
  endif()
  return()
endif()

set(ANNULUS_CARD u55c CACHE STRING "The card to build for: a folder of platform/")
set(ANNULUS_KERNEL_CLOCK_MHZ "" CACHE STRING "Clock of the kernels in MHz (empty: as platform/<card>/card.json says)")
set(card_folder "${annulus_root}/platform/${ANNULUS_CARD}")
if(NOT EXISTS "${card_folder}/card.json")
  message(FATAL_ERROR "ANNULUS_CARD is '${ANNULUS_CARD}', but there is no ${card_folder}/card.json. "
                      "Set it to the name of a folder of platform/ that has one.")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${card_folder}/card.json")
file(READ "${card_folder}/card.json" card)
string(JSON part GET "${card}" part)
string(JSON platform GET "${card}" platform)
string(JSON clock_mhz GET "${card}" clock_mhz)
set(link_clock)
if(ANNULUS_KERNEL_CLOCK_MHZ)
  set(clock_mhz "${ANNULUS_KERNEL_CLOCK_MHZ}")
  set(link_clock --kernel_frequency "${clock_mhz}")  # what stands on the command line goes before the .cfg
endif()
set(cflags "-std=c++14 -I${annulus_root} -DANNULUS_KERNEL_BINS=${ANNULUS_KERNEL_BINS} \
-DANNULUS_KERNEL_VARIANCE=${ANNULUS_KERNEL_VARIANCE}")

set(run "${annulus_root}/scripts/run_logged")
set(check "${annulus_root}/scripts/check_hls_log")
file(GLOB kernel_headers CONFIGURE_DEPENDS "${annulus_root}/hls/*.hpp")

add_custom_target(hw_emu)
add_custom_target(hw)

# One link of a kernel for `mode`, hw_emu or hw.
function(annulus_vitis_link kernel mode folder)
  set(xclbin "${folder}/${kernel}.${mode}.xclbin")
  set(unchecked "${folder}/unchecked.${mode}.xclbin")
  set(emulator)
  if(mode STREQUAL "hw_emu")
    set(emulator COMMAND "${Vitis_EMCONFIGUTIL}" --platform ${platform} --nd 1 --od "${folder}")
  endif()
  add_custom_command(OUTPUT "${xclbin}"
    COMMAND "${run}" "${folder}/${mode}.log" "${Vitis_VPP}" --link --target ${mode} --platform ${platform}
            --config "${card_folder}/${kernel}.cfg" ${link_clock} --save-temps --temp_dir "${folder}/${mode}"
            --output "${unchecked}" "${folder}/${kernel}.xo"
    COMMAND "${check}" --stage link "${folder}/${mode}.log"
    ${emulator}
    COMMAND "${CMAKE_COMMAND}" -E rename "${unchecked}" "${xclbin}"
    DEPENDS "${folder}/${kernel}.xo" "${card_folder}/${kernel}.cfg" "${check}"
    WORKING_DIRECTORY "${folder}" COMMENT "Linking ${kernel} for ${platform} (${mode})" VERBATIM USES_TERMINAL)
  add_custom_target(${mode}_${kernel} DEPENDS "${xclbin}")
  add_dependencies(${mode} ${mode}_${kernel})
endfunction()

function(annulus_vitis_kernel kernel)
  set(folder "${CMAKE_BINARY_DIR}/vitis/${ANNULUS_CARD}/${kernel}")
  set(config "${folder}/hls_config.cfg")
  set(reports "${folder}/synthesis/hls/syn/report")
  set(top "${annulus_root}/hls/${kernel}.cpp")
  set(testbench "${annulus_root}/tests/csim/testbench_${kernel}.cpp" "${annulus_root}/tests/csim/testbench.hpp")
  configure_file("${annulus_root}/scripts/cmake/hls_config.cfg.in" "${config}" @ONLY)

  add_custom_command(OUTPUT "${folder}/${kernel}.xo"
    COMMAND "${run}" "${folder}/synth.log" "${Vitis_VPP}" -c --mode hls --config "${config}" --work_dir "${folder}/synthesis"
    COMMAND "${check}" --stage synth --top "${top}" --clock-mhz ${clock_mhz} "${folder}/synth.log"
            "${reports}/csynth.rpt" "${reports}/csynth.xml"
    COMMAND "${CMAKE_COMMAND}" -E rename "${folder}/unchecked.xo" "${folder}/${kernel}.xo"
    DEPENDS "${config}" "${top}" ${kernel_headers} "${check}"
    WORKING_DIRECTORY "${folder}" COMMENT "Synthesising ${kernel} for ${part}" VERBATIM USES_TERMINAL)
  add_custom_target(synth_${kernel} DEPENDS "${folder}/${kernel}.xo")

  add_custom_target(csim_vitis_${kernel}
    COMMAND "${run}" "${folder}/csim.log" "${Vitis_RUN}" --mode hls --csim --config "${config}"
            --work_dir "${folder}/csim"
    COMMAND "${check}" --stage csim "${folder}/csim.log"
    DEPENDS "${config}" "${top}" ${kernel_headers} ${testbench}
    WORKING_DIRECTORY "${folder}" COMMENT "Running the testbench of ${kernel}" VERBATIM USES_TERMINAL)

  # Reads the RTL from the folder of the synthesis.
  add_custom_target(cosim_${kernel}
    COMMAND "${run}" "${folder}/cosim.log" "${Vitis_RUN}" --mode hls --cosim --config "${config}"
            --work_dir "${folder}/synthesis"
    COMMAND "${check}" --stage cosim "${folder}/cosim.log"
    DEPENDS "${folder}/${kernel}.xo" ${testbench}
    WORKING_DIRECTORY "${folder}" COMMENT "Running the testbench of ${kernel} against its RTL" VERBATIM USES_TERMINAL)

  annulus_vitis_link(${kernel} hw_emu "${folder}")
  annulus_vitis_link(${kernel} hw "${folder}")
endfunction()

annulus_vitis_kernel(reduce_bslz4)
annulus_vitis_kernel(reduce_byte_offset)
annulus_vitis_kernel(reduce_raw)
message(STATUS "Vitis ${Vitis_VERSION}: targets for ${ANNULUS_CARD} at ${clock_mhz} MHz "
               "(synth_*, csim_vitis_*, cosim_*, hw_emu, hw)")
endblock()
