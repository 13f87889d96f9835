# The vendor's tools: v++, vitis-run and emconfigutil, from the PATH or from XILINX_VITIS (settings64.sh sets both).
#
# Gives Vitis_FOUND, Vitis_VERSION, Vitis_VPP, Vitis_RUN and Vitis_EMCONFIGUTIL.
find_program(Vitis_VPP v++ HINTS "$ENV{XILINX_VITIS}/bin")
find_program(Vitis_RUN vitis-run HINTS "$ENV{XILINX_VITIS}/bin")
find_program(Vitis_EMCONFIGUTIL emconfigutil HINTS "$ENV{XILINX_VITIS}/bin")

if(Vitis_VPP)
  execute_process(COMMAND "${Vitis_VPP}" --version OUTPUT_VARIABLE vitis_banner ERROR_VARIABLE vitis_banner
                  RESULT_VARIABLE vitis_failed)
  if(NOT vitis_failed AND vitis_banner MATCHES "v\\+\\+ v([0-9]+\\.[0-9]+)")
    set(Vitis_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Vitis REQUIRED_VARS Vitis_VPP Vitis_RUN Vitis_EMCONFIGUTIL Vitis_VERSION
                                        VERSION_VAR Vitis_VERSION)
mark_as_advanced(Vitis_VPP Vitis_RUN Vitis_EMCONFIGUTIL)
