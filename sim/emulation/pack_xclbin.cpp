// annulus_pack_xclbin: an xclbin for software emulation from a library of kernels, the header that declares
// them, and the card's memories and connectivity.
#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <stdexcept>

#include "connectivity.hpp"
#include "signatures.hpp"
#include "text.hpp"
#include "xclbin_file.hpp"

namespace {

using namespace annulus_sim;

void check_library(const std::string& library, const std::vector<Kernel>& kernels) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(fmt::format("cannot load the kernels: {}", dlerror()));
  for (const Kernel& kernel : kernels) {
    if (dlsym(handle, kernel.name.c_str()) == nullptr) {
      throw std::runtime_error(
          fmt::format("{} has no kernel '{}', which the header declares", library, kernel.name));
    }
  }
  dlclose(handle);
}

// emconfig.json, in which XRT's emulation looks for the card's name and memories. It knows a few sizes by
// name.
std::string emulation_config(const CardDesign& design) {
  nlohmann::json banks = nlohmann::json::array();
  for (const Bank& bank : design.banks) {
    const uint64_t mib = bank.size >> 20;
    if (mib == 0 || (mib & (mib - 1)) != 0 || bank.size % (uint64_t{1} << 20) != 0) {
      throw std::runtime_error(
          fmt::format("{} has {} bytes; XRT's emulation takes 1, 2, 4, ... MiB", bank.tag, bank.size));
    }
    banks.push_back(
        {{"Name", bank.tag}, {"Size", mib < 1024 ? fmt::format("{}M", mib) : fmt::format("{}G", mib >> 10)}});
  }
  const nlohmann::json device = {{"HardwarePlatform", ""}, {"Name", design.card}, {"DdrBanks", banks}};
  const nlohmann::json config = {
      {"Version", {{"FileVersion", "2.0"}, {"ToolVersion", "2.0"}}},
      {"Platform",
       {{"UnifiedPlatform", "true"},
        {"Boards", {{{"NumBoards", "1"}, {"Devices", nlohmann::json::array({device})}}}}}}};
  return config.dump(2) + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Makes an xclbin for XRT's software emulation.");
  std::string header, library, card, connectivity, output, config;
  app.add_option("--header", header, "C++ header that declares the kernels in extern \"C\"")->required();
  app.add_option("--library", library, "Shared library with the kernels")->required();
  app.add_option("--card", card, "The card's name and memories (JSON)")->required();
  app.add_option("--connectivity", connectivity, "Compute units and their banks, as for the Vitis linker")
      ->required();
  app.add_option("--output", output, "The xclbin to write")->required();
  app.add_option("--emconfig", config, "The emconfig.json to write");
  CLI11_PARSE(app, argc, argv);
  try {
    CardDesign design = read_card(card);
    design.kernels = read_signatures(header);
    add_compute_units(design, connectivity);
    check_library(std::filesystem::absolute(library).string(), design.kernels);
    write_text(output, make_xclbin(design, read_text(library)));
    if (!config.empty()) write_text(config, emulation_config(design));
  } catch (const std::exception& error) {
    fmt::print(stderr, "annulus_pack_xclbin: {}\n", error.what());
    return 1;
  }
  return 0;
}
