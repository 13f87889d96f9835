#include "connectivity.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "text.hpp"

namespace annulus_sim {
namespace {

constexpr uint64_t kFirstUnitBase = 0x1800000;

class ConnectivityReader {
 public:
  ConnectivityReader(CardDesign& design, std::string file) : design_(design), file_(std::move(file)) {}

  void read(const std::string& text) {
    bool inside = false;
    for (const std::string& raw : split(text, '\n')) {
      ++line_;
      const std::string line = trim(raw.substr(0, raw.find('#')));
      if (line.starts_with('[')) {
        inside = line == "[connectivity]";
      } else if (inside && !line.empty()) {
        read_entry(line);
      }
    }
    check_complete();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}, line {}: {}", file_, line_, what));
  }

  void read_entry(const std::string& line) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) fail(fmt::format("'{}' is not key=value", line));
    const std::string key = trim(line.substr(0, equals));
    const std::string value = trim(line.substr(equals + 1));
    if (key == "nk") {
      add_units(value);
    } else if (key == "sp") {
      connect(value);
    } else if (key != "slr") {
      fail(fmt::format("'{}' is not emulated; there are nk, sp and slr", key));
    }
  }

  void add_units(const std::string& value) {
    const std::vector<std::string> parts = split(value, ':');
    const auto kernel = std::ranges::find(design_.kernels, parts[0], &Kernel::name);
    if (kernel == design_.kernels.end()) fail(fmt::format("there is no kernel '{}'", parts[0]));
    const int count = parts.size() > 1 ? std::atoi(parts[1].c_str()) : 0;
    if (count < 1) fail(fmt::format("'{}' must be kernel:count with a count of 1 or more", value));
    std::vector<std::string> names;
    if (parts.size() > 2) {
      names = split(parts[2], '.');
    } else {
      for (int i = 1; i <= count; ++i) names.push_back(fmt::format("{}_{}", parts[0], i));
    }
    if (names.size() != static_cast<size_t>(count))
      fail(fmt::format("{} units but {} names", count, names.size()));
    for (const std::string& name : names) {
      design_.units.push_back({.name = name,
                               .kernel = static_cast<size_t>(kernel - design_.kernels.begin()),
                               .base = kFirstUnitBase + design_.units.size() * kRegisterBytes,
                               .banks = std::vector<int>(kernel->arguments.size(), kNoBank)});
    }
  }

  void connect(const std::string& value) {
    static const std::regex kPlace(R"((\w+)\.(\w+):(\w+\[\d+)(?::\d+)?\])");
    std::smatch parts;
    if (!std::regex_match(value, parts, kPlace)) {
      fail(fmt::format("'{}' must be unit.argument:KIND[number]", value));
    }
    const auto unit = std::ranges::find(design_.units, parts[1], &ComputeUnit::name);
    if (unit == design_.units.end()) fail(fmt::format("there is no compute unit '{}'", parts[1].str()));
    const std::vector<Argument>& arguments = design_.kernel_of(*unit).arguments;
    const auto argument = std::ranges::find(arguments, parts[2], &Argument::name);
    if (argument == arguments.end() || !argument->is_pointer()) {
      fail(fmt::format("'{}' has no memory argument '{}'", parts[1].str(), parts[2].str()));
    }
    const std::string tag = parts[3].str() + "]";
    const auto bank = std::ranges::find(design_.banks, tag, &Bank::tag);
    if (bank == design_.banks.end()) fail(fmt::format("the card '{}' has no bank {}", design_.card, tag));
    unit->banks[static_cast<size_t>(argument - arguments.begin())] =
        static_cast<int>(bank - design_.banks.begin());
  }

  void check_complete() const {
    for (const ComputeUnit& unit : design_.units) {
      const std::vector<Argument>& arguments = design_.kernel_of(unit).arguments;
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].is_pointer() && unit.banks[i] == kNoBank) {
          throw std::runtime_error(
              fmt::format("{}: the argument '{}' of {} has no bank; add a line sp={}.{}:KIND[number]", file_,
                          arguments[i].name, unit.name, unit.name, arguments[i].name));
        }
      }
    }
    if (design_.units.empty()) {
      throw std::runtime_error(fmt::format("{}: no compute units; add lines nk=kernel:count", file_));
    }
  }

  CardDesign& design_;
  std::string file_;
  int line_ = 0;
};

}  // namespace

CardDesign read_card(const std::filesystem::path& json) {
  CardDesign design;
  try {
    const nlohmann::json text = nlohmann::json::parse(read_text(json));
    design.card = text.at("name");
    const nlohmann::json& memory = text.at("memory");
    const uint64_t size = memory.at("bytes_per_bank");
    for (uint64_t i = 0; i < memory.at("banks").get<uint64_t>(); ++i) {
      design.banks.push_back(
          {fmt::format("{}[{}]", memory.at("kind").get<std::string>(), i), i * size, size});
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", json.string(), error.what()));
  }
  return design;
}

void add_compute_units(CardDesign& design, const std::filesystem::path& connectivity) {
  ConnectivityReader(design, connectivity.string()).read(read_text(connectivity));
}

}  // namespace annulus_sim
