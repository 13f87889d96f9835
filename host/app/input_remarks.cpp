#include "input_remarks.hpp"

#include "print.hpp"

namespace annulus::app {

void warn_unclosed(const std::filesystem::path& input) {
  print_error(
      "annulus: warning: {} is not closed: the run that writes it goes on, or was ended before its end. What "
      "it holds now "
      "is taken\n",
      on_one_line(input.string()));
}

}  // namespace annulus::app
