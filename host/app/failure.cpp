#include "failure.hpp"

#include <annulus/core/error.hpp>

#include <new>

#include "exit_code.hpp"
#include "option_names.hpp"
#include "print.hpp"

namespace annulus::app {

int report_failure(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    print_error("annulus: error: out of memory (use fewer bins or threads, or smaller frames)\n");
    return kInternalError;
  }
  print_error("annulus: error: {}\n", on_one_line(in_our_words(error.what())));
  const auto* const ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr ? exit_code_of(ours->kind()) : kInternalError;
}

}  // namespace annulus::app
