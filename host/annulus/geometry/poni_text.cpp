#include <annulus/core/text.hpp>
#include <annulus/geometry/poni_text.hpp>

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\v\f\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes one line off the front; lines end as on Unix, Windows or old Macs.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos) {
    text = {};
  } else {
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  }
  return line;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::optional<double> number_from(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

PoniText::PoniText(std::string_view text, std::string name) : name_(std::move(name)) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    PoniEntry entry{lower_case(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1))),
                    number};
    entries_.insert_or_assign(entry.key, entry);
  }
}

const PoniEntry* PoniText::find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<double> PoniText::number(const std::string& key) const {
  const PoniEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const std::optional<double> value = number_from(entry->value);
  if (!value)
    throw error(*entry, in_quotes(entry->value) + " is not a finite number",
                "correct it, or calibrate again");
  return value;
}

std::optional<double> PoniText::positive_number(const std::string& key) const {
  const std::optional<double> value = number(key);
  if (value && !(*value > 0))
    throw error(*find(key), fmt::format("{} is not positive", *value), "correct it, or calibrate again");
  return value;
}

Error PoniText::error(const std::string& fault, const std::string& cure) const {
  return Error(ErrorKind::kGeometry, name_, fault, cure);
}

Error PoniText::error(const PoniEntry& entry, const std::string& fault, const std::string& cure) const {
  return Error(ErrorKind::kGeometry, fmt::format("{}, line {}, {}", name_, entry.line, entry.key), fault,
               cure);
}

}  // namespace annulus
