#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/core/url.hpp>
#include <annulus/sources/column_spec.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace annulus {
namespace {

constexpr std::string_view kHeader = "header:";
constexpr std::size_t kLongestName = 63;  // what NeXus recommends
constexpr const char* kForms =
    "write NAME=FILE.csv#COLUMN, NAME=FILE.h5::/PATH or NAME=header:KEY, for example x=motors.csv#x";

[[noreturn]] void refuse_spec(const std::string& option, const std::string& text, const std::string& what) {
  throw Error(ErrorKind::kUsage, option, fmt::format("{} {}", in_quotes(text), what), kForms);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool is_word_sign(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool is_column_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && is_word_sign(name.front()) &&
         is_word_sign(name.back()) &&
         std::ranges::all_of(name, [](char c) { return is_word_sign(c) || c == '.'; });
}

bool names_a_source(const std::string& text) {
  return text.find('=') != std::string::npos || text.starts_with(kHeader) ||
         text.find("::") != std::string::npos || text.find('#') != std::string::npos;
}

ColumnSpec parse_column(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse_spec(option, text, "does not say which column it is");
  const std::string name = text.substr(0, equals);
  if (!is_column_name(name)) {
    refuse_spec(
        option, text,
        fmt::format("begins with {}, which is no name: letters, digits, underscores, and dots in between, "
                    "at most {}",
                    in_quotes(name), kLongestName));
  }
  return parse_column_source(name, text.substr(equals + 1), option);
}

ColumnSpec parse_column_source(const std::string& name, const std::string& text, const std::string& option) {
  ColumnSpec spec{{name, {}, text}, ColumnPlace::kTable, {}, {}};
  if (text.starts_with(kHeader)) {
    spec.place = ColumnPlace::kHeader;
    spec.key = text.substr(kHeader.size());
    if (spec.key.empty()) refuse_spec(option, text, "names no key of the header");
    return spec;
  }
  // Either sign may be in the name of a file: what exists as a file is one.
  const Url url = split_url(text);
  const std::size_t hash = text.rfind('#');
  const bool may_be_table = hash != std::string::npos;
  const bool is_table =
      may_be_table && (!url.dataset || (!is_file(url.file) && is_file(text.substr(0, hash))));
  if (!is_table && url.dataset) {
    spec.place = ColumnPlace::kDataset;
    spec.file = url.file;
    spec.key = *url.dataset;
    if (spec.file.empty()) refuse_spec(option, text, "names no file");
    if (spec.key.empty() || spec.key == "/") refuse_spec(option, text, "names no dataset");
    return spec;
  }
  if (!is_table) refuse_spec(option, text, "names neither a column of a table, a dataset nor a header");
  spec.file = text.substr(0, hash);
  spec.key = text.substr(hash + 1);
  if (spec.file.empty()) refuse_spec(option, text, "names no file");
  if (spec.key.empty()) refuse_spec(option, text, "names no column of the table");
  return spec;
}

}  // namespace annulus
