#include <annulus/core/error.hpp>

#include <fmt/format.h>
#include <tools/cycles/prediction.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace annulus {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;

RateLimit kernel_limit(const CycleReport& report, const CardKernel& kernel, double clock_mhz) {
  return {"kernel",
          fmt::format("{} compute unit{} at {:g} MHz, {:.0f} clocks per frame", kernel.compute_units,
                      kernel.compute_units == 1 ? "" : "s", clock_mhz, report.clocks_a_frame),
          kernel.compute_units * clock_mhz * kMega / report.clocks_a_frame};
}

const CardKernel& find_kernel(const CycleReport& report, const Card& card) {
  const auto found = card.kernels.find(report.kernel);
  if (found == card.kernels.end()) {
    throw Error(ErrorKind::kUsage, card.name, fmt::format("it has no kernel {}", report.kernel),
                "name its compute units in card.json");
  }
  std::set<std::string> expected;
  for (const PortTraffic& port : report.ports) expected.insert(port.name);
  std::map<std::string, std::set<std::string>> connected;  // by compute unit
  for (const PortBanks& port : found->second.ports) connected[port.compute_unit].insert(port.port);
  for (const auto& [unit, ports] : connected) {
    if (ports == expected) continue;
    throw Error(ErrorKind::kUsage, card.name,
                fmt::format("{} is connected by the ports {}; the kernel has {}", unit,
                            fmt::join(ports, ", "), fmt::join(expected, ", ")),
                fmt::format("correct the sp= lines of {}.cfg", report.kernel));
  }
  return found->second;
}

struct BankLoad {
  double bytes_a_frame = 0;
  std::set<std::string> ports;
};

RateLimit memory_limit(const CycleReport& report, const Card& card, const CardKernel& kernel) {
  std::vector<BankLoad> banks(card.banks);
  for (const PortBanks& place : kernel.ports) {
    const auto port =
        std::find_if(report.ports.begin(), report.ports.end(),
                     [&](const PortTraffic& candidate) { return candidate.name == place.port; });
    const double passes = port->pcie == PcieDirection::kNone ? 1 : 2;
    const double bytes = passes * port->bytes_a_frame / kernel.compute_units / (place.last - place.first + 1);
    for (unsigned bank = place.first; bank <= place.last; ++bank) {
      banks[bank].bytes_a_frame += bytes;
      banks[bank].ports.insert(place.port);
    }
  }
  const auto busiest = std::max_element(banks.begin(), banks.end(), [](const BankLoad& a, const BankLoad& b) {
    return a.bytes_a_frame < b.bytes_a_frame;
  });
  return {"memory",
          fmt::format("{}[{}] at {:g} GB/s, with {}", card.memory_kind, busiest - banks.begin(),
                      card.bank_gb_per_second, fmt::join(busiest->ports, ", ")),
          card.bank_gb_per_second * kGiga / busiest->bytes_a_frame};
}

RateLimit pcie_limit(const CycleReport& report, const Card& card) {
  double to_card = 0;
  double from_card = 0;
  for (const PortTraffic& port : report.ports) {
    if (port.pcie == PcieDirection::kToCard) to_card += port.bytes_a_frame;
    if (port.pcie == PcieDirection::kFromCard) from_card += port.bytes_a_frame;
  }
  const double more = std::max(to_card, from_card);
  return {"pcie",
          fmt::format("{:.0f} bytes per frame {} the card at {:g} GB/s", more,
                      to_card >= from_card ? "to" : "from", card.pcie_gb_per_second),
          card.pcie_gb_per_second * kGiga / more};
}

}  // namespace

const RateLimit& Prediction::limit() const {
  return *std::min_element(limits.begin(), limits.end(), [](const RateLimit& a, const RateLimit& b) {
    return a.frames_per_second < b.frames_per_second;
  });
}

Prediction predict(const CycleReport& report, const Card& card, double clock_mhz) {
  const CardKernel& kernel = find_kernel(report, card);
  return {clock_mhz,
          {kernel_limit(report, kernel, clock_mhz), memory_limit(report, card, kernel),
           pcie_limit(report, card)}};
}

}  // namespace annulus
