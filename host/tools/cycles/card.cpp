#include <annulus/core/read_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tools/cycles/card.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace annulus {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFileName = "card.json";

// Those of which speed is known: the emulated card has none to speak of.
std::string known_cards(const fs::path& platform) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(platform, ignored)) {
    std::ifstream file(entry.path() / kFileName);
    const Json facts = Json::parse(file, nullptr, false);
    if (facts.contains("clock_mhz")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

fs::path find_card(const std::string& card, const fs::path& platform) {
  if (card.ends_with(".json")) return card;
  const fs::path file = platform / card / kFileName;
  std::error_code ignored;
  if (fs::exists(file, ignored)) return file;
  const std::string known = known_cards(platform);
  throw Error(ErrorKind::kUsage, "`card`", fmt::format("there is no {}", file.string()),
              known.empty() ? "set ANNULUS_PLATFORM_DIR to the folder of cards, or name a card.json"
                            : fmt::format("known are {}; or name a card.json", known));
}

// The facts of one card.json. Keys are JSON pointers: "/memory/banks".
class Facts {
 public:
  explicit Facts(const fs::path& file) : file_(file.string()) {
    try {
      json_ = Json::parse(read_text_file(file, ErrorKind::kUsage));
    } catch (const Json::exception& error) {
      throw Error(ErrorKind::kUsage, file_, fmt::format("not valid JSON: {}", error.what()));
    }
  }

  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) refuse(key, "it must be a text");
    return value.get<std::string>();
  }

  double rate(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number() || !(value.get<double>() > 0)) refuse(key, "it must be a number above 0");
    return value.get<double>();
  }

  std::vector<std::string> keys(const char* key) const {
    const Json& value = at(key);
    if (!value.is_object() || value.empty())
      refuse(key, "it must be an object with a number for each kernel");
    std::vector<std::string> keys;
    for (const auto& item : value.items()) keys.push_back(item.key());
    return keys;
  }

  unsigned count(const std::string& key) const {
    const Json& value = at(key);
    constexpr std::uint64_t kMost = 1024;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() - 1 >= kMost) {
      refuse(key, fmt::format("it must be a whole number from 1 to {}", kMost));
    }
    return value.get<unsigned>();
  }

 private:
  const Json& at(const std::string& key) const {
    const Json::json_pointer pointer(key);
    if (!json_.contains(pointer)) refuse(key, "it is missing");
    return json_.at(pointer);
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& fault) const {
    throw Error(ErrorKind::kUsage, file_, fmt::format("\"{}\": {}", key.substr(1), fault),
                "compare with the card.json of another card");
  }

  std::string file_;
  Json json_;
};

// Takes what stands before `end` off the front of `rest`, with the sign itself; nothing if it is not there.
std::string_view cut(std::string_view& rest, char end) {
  const std::size_t length = rest.find(end);
  if (length == std::string_view::npos) return {};
  const std::string_view front = rest.substr(0, length);
  rest.remove_prefix(length + 1);
  return front;
}

std::optional<unsigned> whole_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "sp=reduce_raw_1.frames:HBM[4:7]"; nothing if it does not look like that.
struct ConnectivityLine {
  PortBanks port;
  std::string_view memory_kind;
};
std::optional<ConnectivityLine> parse_line(std::string_view line) {
  cut(line, '=');
  const std::string_view unit = cut(line, '.');
  const std::string_view port = cut(line, ':');
  const std::string_view kind = cut(line, '[');
  std::string_view banks = cut(line, ']');
  const bool has_range = banks.find(':') != std::string_view::npos;
  const auto first = whole_number(has_range ? cut(banks, ':') : banks);
  const auto last = whole_number(banks);
  if (unit.empty() || port.empty() || kind.empty() || !first || !last || !line.empty()) return std::nullopt;
  return ConnectivityLine{{std::string(unit), std::string(port), *first, *last}, kind};
}

// The sp= lines of a file for the vendor's linker.
std::vector<PortBanks> read_ports(const fs::path& file, const Card& card, unsigned compute_units) {
  std::vector<PortBanks> ports;
  std::istringstream text(read_text_file(file, ErrorKind::kUsage));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (!line.starts_with("sp=")) continue;
    const auto refuse = [&](const std::string& fault) {
      throw Error(ErrorKind::kUsage, fmt::format("{}, line {}", file.string(), number), fault,
                  fmt::format("write sp=unit.port:{}[0]", card.memory_kind));
    };
    const auto parsed = parse_line(line);
    if (!parsed) refuse(fmt::format("'{}' is not understood", line));
    const PortBanks& port = parsed->port;
    if (parsed->memory_kind != card.memory_kind || port.first > port.last || port.last >= card.banks) {
      refuse(fmt::format("the card's memory is {}[0:{}]", card.memory_kind, card.banks - 1));
    }
    ports.push_back(port);
  }
  std::set<std::string> units;
  for (const PortBanks& port : ports) units.insert(port.compute_unit);
  if (units.size() != compute_units) {
    throw Error(
        ErrorKind::kUsage, file.string(),
        fmt::format("it connects {} compute units, the card's facts say {}", units.size(), compute_units),
        "make the two agree");
  }
  return ports;
}

}  // namespace

Card read_card(const std::string& card_name, const fs::path& platform) {
  const fs::path file = find_card(card_name, platform);
  const Facts facts(file);
  Card card;
  card.name = facts.text("/name");
  card.memory_kind = facts.text("/memory/kind");
  card.banks = facts.count("/memory/banks");
  card.bank_gb_per_second = facts.rate("/memory/gb_per_second_per_bank");
  card.pcie_gb_per_second = facts.rate("/pcie/gb_per_second");
  card.clock_mhz = facts.rate("/clock_mhz");
  for (const std::string& kernel : facts.keys("/compute_units")) {
    const unsigned units = facts.count("/compute_units/" + kernel);
    card.kernels[kernel] = {units, read_ports(file.parent_path() / (kernel + ".cfg"), card, units)};
  }
  return card;
}

}  // namespace annulus
