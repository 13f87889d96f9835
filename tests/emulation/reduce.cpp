// The project's kernels on the emulated card: one small frame through every compute unit. Prints for each
// unit the status and the signal of every bin.
#include <fmt/format.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace {

constexpr uint32_t kPixels = 40;
constexpr uint32_t kBins = 6;
constexpr uint32_t kWeightBits = 20;
constexpr uint32_t kBeats = kernels::groups_of(kPixels);

uint8_t value_of(uint32_t pixel) { return static_cast<uint8_t>(pixel * 7 % 50); }

// All differences fit the one-byte code.
std::vector<uint8_t> byte_offset_payload() {
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0, last = 0; i < kPixels; last = value_of(i++)) bytes.push_back(value_of(i) - last);
  return bytes;
}

std::vector<uint8_t> raw_payload() {
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < kPixels; ++i) bytes.insert(bytes.end(), {value_of(i), 0});
  return bytes;
}

// One block of literals; its bit planes hold 8 pixels in a byte.
std::vector<uint8_t> bslz4_payload() {
  constexpr uint8_t kBytes = 2 * kPixels;
  std::vector<uint8_t> bytes = {0, 0, 0, 0, 0, 0, 0,          kBytes, 0,
                                0, 0, 0, 0, 0, 0, kBytes + 2, 0xF0,   kBytes - 15};
  for (uint32_t bit = 0; bit < 16; ++bit) {
    for (uint32_t first = 0; first < kPixels; first += 8) {
      uint8_t plane = 0;
      for (uint32_t i = 0; i < 8; ++i) plane |= static_cast<uint8_t>((value_of(first + i) >> bit & 1) << i);
      bytes.push_back(plane);
    }
  }
  return bytes;
}

// Pixel i lies whole in bin i mod 5; the last bin stays empty.
std::vector<kernels::TableSlice> table_of_port(int port) {
  std::vector<kernels::TableSlice> table(kBeats);
  for (uint32_t i = 0; i < kBeats * kernels::kLanes; ++i) {
    const uint32_t lane = i % kernels::kLanes;
    if (lane / kernels::kEntriesAPort != static_cast<uint32_t>(port)) continue;
    kernels::TableEntry entry = i < kPixels ? (i % 5) | kernels::kCloses : 0;
    if (lane == 0) entry |= kernels::kLastBeat;
    table[i / kernels::kLanes].entry[lane % kernels::kEntriesAPort] = entry;
  }
  return table;
}

template <typename T>
xrt::bo filled(const xrt::device& device, const xrt::kernel& kernel, int argument,
               const std::vector<T>& content) {
  xrt::bo buffer(device, content.size() * sizeof(T), kernel.group_id(argument));
  buffer.write(content.data());
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffer;
}

void reduce(const xrt::device& device, const xrt::uuid& xclbin, const std::string& name,
            const std::string& unit) {
  xrt::kernel kernel(device, xclbin, name + ":{" + unit + "}");
  const std::vector<uint8_t> payload = name == "reduce_raw"     ? raw_payload()
                                       : name == "reduce_bslz4" ? bslz4_payload()
                                                                : byte_offset_payload();
  std::vector<xrt::bo> inputs;  // a run does not keep its buffers
  inputs.push_back(
      filled(device, kernel, 0,
             std::vector<kernels::FrameDescriptor>{{0, static_cast<uint32_t>(payload.size()), 1, 0}}));
  inputs.push_back(filled(device, kernel, 1, payload));
  for (int port = 0; port < kernels::kTablePorts; ++port) {
    inputs.push_back(filled(device, kernel, 2 + port, table_of_port(port)));
  }
  inputs.push_back(filled(device, kernel, 6, std::vector<kernels::Correction>(kPixels)));
  xrt::bo results(device, kernels::result_beats_of(kBins) * sizeof(kernels::SumBeat), kernel.group_id(7));
  xrt::bo missing(device, kernels::missing_beats_of(kBins) * sizeof(kernels::SumBeat), kernel.group_id(8));

  xrt::run run(kernel);
  int next = 0;
  for (const xrt::bo& input : inputs) run.set_arg(next++, input);
  run.set_arg(next++, results);
  run.set_arg(next++, missing);
  for (const uint32_t value : {1u, kPixels, kBins, kBeats, kWeightBits, 10u}) run.set_arg(next++, value);
  for (const int64_t value : {int64_t{0}, int64_t{1} << 31, int64_t{1}, int64_t{0}})
    run.set_arg(next++, value);
  if (name != "reduce_byte_offset") {
    run.set_arg(next++, 1u);
    run.set_arg(next++, 0u);
  }
  run.start();
  run.wait();

  results.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* beats = results.map<const kernels::SumBeat*>();
  fmt::print("{} {}", unit, beats[0].sum[kernels::kHeaderStatus]);
  for (uint32_t bin = 0; bin < kBins; ++bin) {
    fmt::print(" {}", beats[1 + bin / kernels::kBanks].sum[bin % kernels::kBanks]);
  }
  fmt::print("\n");
}

}  // namespace

int main() {
  const xrt::device device(0);
  const xrt::uuid xclbin = xrt::device(device).load_xclbin(std::string(std::getenv("ANNULUS_XCLBIN")));
  for (const std::string kernel : {"reduce_bslz4", "reduce_byte_offset", "reduce_raw"}) {
    for (const char* number : {"_1", "_2"}) reduce(device, xclbin, kernel, kernel + number);
  }
}
