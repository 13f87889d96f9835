#include "metadata.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace annulus_sim {
namespace {

constexpr const char* kControlPort = "S_AXI_CONTROL";

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(value.c_str());
}

void add_port(pugi::xml_node kernel, const std::string& name, bool is_memory) {
  pugi::xml_node port = kernel.append_child("port");
  set(port, "name", name);
  set(port, "mode", is_memory ? "master" : "slave");
  set(port, "range", hex(is_memory ? ~uint64_t{0} : kRegisterBytes));
  set(port, "dataWidth", is_memory ? "512" : "32");
  set(port, "portType", "addressable");
  set(port, "base", "0x0");
}

void add_argument(pugi::xml_node kernel, const Argument& argument, size_t id, const std::string& port) {
  pugi::xml_node arg = kernel.append_child("arg");
  set(arg, "name", argument.name);
  set(arg, "addressQualifier", argument.is_pointer() ? "1" : "0");
  set(arg, "id", std::to_string(id));
  set(arg, "port", port);
  set(arg, "size", hex(register_bytes_of(argument)));
  set(arg, "offset", hex(argument.offset));
  set(arg, "hostOffset", "0x0");
  set(arg, "hostSize", hex(register_bytes_of(argument)));
  set(arg, "type", argument.type);
}

void add_kernel(pugi::xml_node core, const CardDesign& design, size_t index) {
  const Kernel& kernel = design.kernels[index];
  pugi::xml_node node = core.append_child("kernel");
  set(node, "name", kernel.name);
  set(node, "language", "c");
  set(node, "workGroupSize", "1");
  set(node, "hwControlProtocol", "ap_ctrl_hs");
  add_port(node, kControlPort, false);
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    const std::string port = argument.is_pointer() ? "M_AXI_" + argument.name : kControlPort;
    if (argument.is_pointer()) add_port(node, port, true);
    add_argument(node, argument, i, port);
  }
  for (const ComputeUnit& unit : design.units) {
    if (unit.kernel != index) continue;
    pugi::xml_node instance = node.append_child("instance");
    set(instance, "name", unit.name);
    pugi::xml_node remap = instance.append_child("addrRemap");
    set(remap, "base", hex(unit.base));
    set(remap, "port", kControlPort);
    for (size_t i = 0; i < unit.banks.size(); ++i) {
      if (unit.banks[i] == kNoBank) continue;
      pugi::xml_node connection =
          instance.append_child("memoryConnection");  // for the emulated card; XRT skips it
      set(connection, "arg", std::to_string(i));
      set(connection, "memory", design.banks[static_cast<size_t>(unit.banks[i])].tag);
    }
  }
}

ComputeUnit unit_from(pugi::xml_node instance, const CardDesign& design, size_t kernel) {
  ComputeUnit unit{.name = instance.attribute("name").value(),
                   .kernel = kernel,
                   .base = instance.child("addrRemap").attribute("base").as_ullong(),
                   .banks = std::vector<int>(design.kernels[kernel].arguments.size(), kNoBank)};
  for (pugi::xml_node connection : instance.children("memoryConnection")) {
    const std::string tag = connection.attribute("memory").value();
    const auto bank = std::ranges::find(design.banks, tag, &Bank::tag);
    if (bank == design.banks.end()) throw std::runtime_error(fmt::format("{}: no memory {}", unit.name, tag));
    unit.banks.at(connection.attribute("arg").as_uint()) = static_cast<int>(bank - design.banks.begin());
  }
  return unit;
}

}  // namespace

std::string to_xml(const CardDesign& design) {
  pugi::xml_document document;
  pugi::xml_node project = document.append_child("project");
  set(project, "name", design.card);
  pugi::xml_node platform = project.append_child("platform");
  set(platform, "vendor", "annulus");
  set(platform, "name", design.card);
  pugi::xml_node device = platform.append_child("device");
  set(device, "name", "fpga0");
  set(device, "fpgaDevice", design.card);
  pugi::xml_node core = device.append_child("core");
  set(core, "name", "OCL_REGION_0");
  set(core, "target", "csim");
  for (const Bank& bank : design.banks) {
    pugi::xml_node memory = device.append_child("memory");
    set(memory, "name", bank.tag);
    set(memory, "base", hex(bank.base));
    set(memory, "size", hex(bank.size));
  }
  for (size_t i = 0; i < design.kernels.size(); ++i) add_kernel(core, design, i);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

CardDesign design_from_xml(const std::filesystem::path& file) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_file(file.c_str());
  if (!parsed) throw std::runtime_error(fmt::format("{}: {}", file.string(), parsed.description()));
  const pugi::xml_node device = document.child("project").child("platform").child("device");
  CardDesign design;
  design.card = device.attribute("fpgaDevice").value();
  for (pugi::xml_node memory : device.children("memory")) {
    design.banks.push_back({memory.attribute("name").value(), memory.attribute("base").as_ullong(),
                            memory.attribute("size").as_ullong()});
  }
  for (pugi::xml_node node : device.child("core").children("kernel")) {
    Kernel kernel{.name = node.attribute("name").value(), .arguments = {}};
    for (pugi::xml_node arg : node.children("arg")) {
      kernel.arguments.push_back(
          {arg.attribute("name").value(), arg.attribute("type").value(), arg.attribute("offset").as_uint()});
    }
    design.kernels.push_back(kernel);
    for (pugi::xml_node instance : node.children("instance")) {
      design.units.push_back(unit_from(instance, design, design.kernels.size() - 1));
    }
  }
  if (design.banks.empty() || design.units.empty()) {
    throw std::runtime_error(
        fmt::format("{}: names no memory or no compute unit; this xclbin was not made by annulus_pack_xclbin",
                    file.string()));
  }
  return design;
}

}  // namespace annulus_sim
