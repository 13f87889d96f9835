# run(command ...): ends the script with the command's own words if it fails; its output is left in `output`.
macro(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGV}\n${output}${errors}")
  endif()
endmacro()
