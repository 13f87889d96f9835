#include "signatures.hpp"

#include <fmt/format.h>

#include <regex>
#include <stdexcept>

#include "text.hpp"

namespace annulus_sim {
namespace {

// The text between the braces of `extern "C" { ... }`; there are no braces within declarations.
std::string c_declarations(const std::string& text, const std::filesystem::path& header) {
  static const std::regex kBlock(R"(extern\s+"C"\s*\{([^}]*)\})");
  std::smatch block;
  if (!std::regex_search(text, block, kBlock)) {
    throw std::runtime_error(fmt::format(
        "{}: no extern \"C\" {{ }} with declarations; kernels are found by their C names", header.string()));
  }
  return block[1];
}

Argument parse_argument(const std::string& text, const std::string& kernel,
                        const std::filesystem::path& header) {
  static const std::regex kArgument(R"((?:const\s+)?([\w:]+)(?:\s*(\*)\s*|\s+)(\w+))");
  std::smatch parts;
  const std::string trimmed = trim(text);
  if (!std::regex_match(trimmed, parts, kArgument)) {
    throw std::runtime_error(
        fmt::format("{}: {}: cannot read the argument '{}'; write it as 'type name' or 'type* name'",
                    header.string(), kernel, trimmed));
  }
  Argument argument{.name = parts[3], .type = parts[1]};
  if (argument.type.starts_with("std::")) argument.type.erase(0, 5);
  if (parts[2].length() > 0) {
    argument.type = "void*";
  } else if (find_integer_type(argument.type) == nullptr) {
    throw std::runtime_error(
        fmt::format("{}: {}: the argument '{}' is a {}; kernels take pointers and the integers of "
                    "<cstdint>",
                    header.string(), kernel, argument.name, argument.type));
  }
  return argument;
}

}  // namespace

std::vector<Kernel> read_signatures(const std::filesystem::path& header) {
  static const std::regex kComment(R"(//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)");
  static const std::regex kFunction(R"(void\s+(\w+)\s*\(([^)]*)\)\s*;)");
  const std::string text = std::regex_replace(read_text(header), kComment, " ");
  const std::string declarations = c_declarations(text, header);

  std::vector<Kernel> kernels;
  for (std::sregex_iterator match(declarations.begin(), declarations.end(), kFunction), end; match != end;
       ++match) {
    Kernel kernel{.name = (*match)[1], .arguments = {}};
    uint32_t offset = kFirstArgument;
    for (const std::string& part : split((*match)[2].str(), ',')) {
      Argument argument = parse_argument(part, kernel.name, header);
      argument.offset = offset;
      offset += register_bytes_of(argument) + 4;
      kernel.arguments.push_back(argument);
    }
    kernels.push_back(kernel);
  }
  if (kernels.empty()) {
    throw std::runtime_error(
        fmt::format("{}: extern \"C\" declares no kernel of the form 'void name(...);'", header.string()));
  }
  return kernels;
}

}  // namespace annulus_sim
