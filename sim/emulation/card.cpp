#include "card.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "driver_calls.pb.h"
#include "metadata.hpp"

namespace annulus_sim {
namespace {

template <typename Message>
Message parse(const Call& call) {
  Message message;
  if (!message.ParseFromString(call.body)) {
    throw std::runtime_error(fmt::format("the driver speaks another protocol: call {} cannot be read",
                                         static_cast<uint32_t>(call.number)));
  }
  return message;
}

wire::Done done(bool good) {
  wire::Done answer;
  answer.set_good(good);
  return answer;
}

void wait_out(std::chrono::steady_clock::time_point start, double ms, double ms_per_mib, uint64_t bytes) {
  const double whole = ms + ms_per_mib * static_cast<double>(bytes) / (1 << 20);
  std::this_thread::sleep_until(start + std::chrono::duration<double, std::milli>(whole));
}

const char* in_words(RunFault fault) {
  switch (fault) {
    case RunFault::kNone:
      return "";
    case RunFault::kDie:
      return ", in which the card dies as its settings ask";
    case RunFault::kHang:
      return ", which hangs as its settings ask";
    default:
      return ", which leaves wrong numbers as its settings ask";
  }
}

}  // namespace

Card::Card(DriverLink& driver, const Settings& settings, const Journal& journal)
    : driver_(driver), settings_(settings), journal_(journal) {}

void Card::serve() {
  journal_.note(Journal::kCard, "opened");
  while (const std::optional<Call> call = driver_.next()) {
    watch_units();
    if (!answer(*call)) {
      journal_.note(Journal::kCard, "closed");
      return;
    }
  }
  journal_.note(Journal::kCard, "the host program is gone");
}

bool Card::answer(const Call& call) {
  switch (call.number) {
    case CallNumber::kClose: {
      const bool everything = parse<wire::Close>(call).everything();
      reset();
      driver_.answer(done(true));
      return !everything;
    }
    case CallNumber::kLoad: {
      const auto request = parse<wire::Load>(call);
      std::vector<uint64_t> banks;
      for (const wire::Load::Bank& bank : request.banks()) banks.push_back(bank.size());
      driver_.answer(done(load(request.metadata_file(), request.library_file(), banks)));
      return true;
    }
    case CallNumber::kAllocate: {
      const auto request = parse<wire::Allocate>(call);
      if (memory_) memory_->allocate({request.address(), request.size()});
      journal_.note(Journal::kCard, "allocate {:#x}, {} bytes", request.address(), request.size());
      driver_.answer(done(true));
      return true;
    }
    case CallNumber::kFree: {
      const auto request = parse<wire::Free>(call);
      if (memory_) memory_->free(request.address());
      journal_.note(Journal::kCard, "free {:#x}", request.address());
      driver_.answer(done(true));
      return true;
    }
    case CallNumber::kUpload: {
      const auto request = parse<wire::Upload>(call);
      upload(request.address(), request.data());
      wire::Moved answer;
      answer.set_size(request.data().size());
      driver_.answer(answer);
      return true;
    }
    case CallNumber::kDownload: {
      const auto request = parse<wire::Download>(call);
      wire::Moved answer;
      answer.set_size(request.size());
      answer.set_data(download(request.address(), request.size()));
      driver_.answer(answer);
      return true;
    }
    case CallNumber::kWriteRegisters: {
      const auto request = parse<wire::WriteRegisters>(call);
      driver_.answer(done(write_registers(request.address(), request.data())));
      return true;
    }
    case CallNumber::kWriteRegister: {
      const auto request = parse<wire::WriteRegister>(call);
      driver_.answer(done(write_registers(uint64_t{request.base()} + request.offset(), request.data())));
      return true;
    }
    case CallNumber::kReadRegisters: {
      const auto request = parse<wire::ReadRegisters>(call);
      wire::Done answer = done(true);
      answer.set_data(read_registers(request.address(), request.size()));
      driver_.answer(answer);
      return true;
    }
    case CallNumber::kReadRegister: {
      const auto request = parse<wire::ReadRegister>(call);
      wire::Done answer = done(true);
      answer.set_data(read_registers(uint64_t{request.base()} + request.offset(), request.size()));
      driver_.answer(answer);
      return true;
    }
    case CallNumber::kSetEnvironment:
    case CallNumber::kSetUpInstance:  // streams between kernels and host, which this card has not
      driver_.answer(done(true));
      return true;
  }
  throw std::runtime_error(
      fmt::format("call {} of the driver is not emulated", static_cast<uint32_t>(call.number)));
}

void Card::reset() {
  units_.clear();
  memory_.reset();
  design_ = {};
  lost_ = false;
}

bool Card::load(const std::string& metadata_file, const std::string& library,
                const std::vector<uint64_t>& banks) {
  reset();
  memory_ = std::make_unique<DeviceMemory>(std::accumulate(banks.begin(), banks.end(), uint64_t{0}));
  if (metadata_file.empty()) return true;  // buffers before the first xclbin
  ++loads_;
  if (settings_.faults.every_time) runs_ = 0;
  const uint64_t bad_load = settings_.faults.die_on_load;
  if (bad_load != 0 && (loads_ == bad_load || (settings_.faults.every_time && loads_ > bad_load))) {
    journal_.error(Journal::kCard, "lost in load {}, as its settings ask", loads_);
    lose();
    return false;
  }
  try {
    design_ = design_from_xml(metadata_file);
    if (!std::ranges::equal(design_.banks, banks, {}, &Bank::size)) {
      throw std::runtime_error(
          fmt::format("XRT knows {} memory banks and the xclbin {}, or their sizes differ; EMCONFIG_PATH "
                      "must name the folder of the "
                      "emconfig.json that was made with the xclbin",
                      banks.size(), design_.banks.size()));
    }
    start_units(library);
  } catch (const std::exception& error) {
    journal_.error(Journal::kCard, "{}", error.what());
    lose();
    return false;
  }
  return true;
}

void Card::start_units(const std::string& library) {
  for (const ComputeUnit& unit : design_.units) {
    units_.push_back(
        std::make_unique<UnitProcess>(design_, unit, library, memory_->file(), driver_.socket(), journal_));
  }
  for (const auto& process : units_) process->await_ready();
  journal_.note(Journal::kCard, "loaded {} compute units for {}", units_.size(), design_.card);
}

void Card::upload(uint64_t address, const std::string& bytes) {
  const auto start = std::chrono::steady_clock::now();
  if (!lost_ && memory_) {
    const std::span<char> target = memory_->bytes(address, bytes.size());
    if (target.size() == bytes.size()) {
      std::memcpy(target.data(), bytes.data(), bytes.size());
    } else {
      journal_.error(Journal::kCard, "the host wrote {} bytes to {:#x}, which are not within a buffer",
                     bytes.size(), address);
    }
  }
  wait_out(start, settings_.times.upload_ms, settings_.times.upload_ms_per_mib, bytes.size());
  journal_.note(Journal::kCard, "upload to {:#x}, {} bytes", address, bytes.size());
}

std::string Card::download(uint64_t address, uint64_t size) {
  const auto start = std::chrono::steady_clock::now();
  std::string bytes;
  if (!lost_ && memory_) {
    const std::span<char> source = memory_->bytes(address, size);
    bytes.assign(source.begin(), source.end());
    if (source.size() != size) {
      journal_.error(Journal::kCard, "the host read {} bytes from {:#x}, which are not within a buffer", size,
                     address);
    }
  }
  bytes.resize(size, '\xff');
  wait_out(start, settings_.times.download_ms, settings_.times.download_ms_per_mib, size);
  journal_.note(Journal::kCard, "download from {:#x}, {} bytes", address, size);
  return bytes;
}

UnitProcess* Card::unit_at(uint64_t address, size_t size) {
  for (const auto& process : units_) {
    if (process->has_register(address, size)) return process.get();
  }
  if (!units_.empty())
    journal_.error(Journal::kCard, "no compute unit has registers at {:#x}, {} bytes", address, size);
  return nullptr;
}

bool Card::write_registers(uint64_t address, const std::string& bytes) {
  UnitProcess* process = unit_at(address, bytes.size());
  if (process != nullptr && process->write_registers(address, bytes)) start_run(*process);
  return true;
}

std::string Card::read_registers(uint64_t address, size_t size) {
  UnitProcess* process = unit_at(address, size);
  return process == nullptr ? std::string(size, '\xff') : process->read_registers(address, size);
}

void Card::start_run(UnitProcess& process) {
  const ComputeUnit& unit = process.unit();
  const std::vector<Argument>& arguments = design_.kernel_of(unit).arguments;
  RunRequest request{};
  request.fault = next_fault();
  request.at_least_ms = settings_.times.launch_ms;
  for (size_t i = 0; i < arguments.size(); ++i) {
    RunRequest::Value& argument = request.arguments[i];
    argument.value = process.value_of(arguments[i]);
    if (arguments[i].name == "frame_count") {
      request.at_least_ms += settings_.times.frame_ms * static_cast<double>(argument.value);
    }
    if (!arguments[i].is_pointer()) continue;
    const Bank& bank = design_.banks[static_cast<size_t>(unit.banks[i])];
    const std::optional<Buffer> buffer = memory_->find(argument.value);
    // A compute unit reaches only the bank that it is wired to.
    if (buffer && buffer->base >= bank.base && buffer->base < bank.base + bank.size)
      argument.buffer = *buffer;
  }
  journal_.note(unit.name, "run {}{}", runs_, in_words(request.fault));
  process.start(request);
}

RunFault Card::next_fault() {
  ++runs_;
  const Settings::Faults& faults = settings_.faults;
  const std::pair<uint64_t, RunFault> runs[] = {
      {faults.die_in_run, RunFault::kDie},         {faults.hang_in_run, RunFault::kHang},
      {faults.stale_in_run, RunFault::kStale},     {faults.zero_in_run, RunFault::kZero},
      {faults.garbage_in_run, RunFault::kGarbage}, {faults.flip_in_run, RunFault::kFlip},
      {faults.swap_in_run, RunFault::kSwap}};
  const auto found = std::ranges::find(runs, runs_, &std::pair<uint64_t, RunFault>::first);
  return found == std::end(runs) ? RunFault::kNone : found->second;
}

void Card::watch_units() {
  const auto is_lost = [](const auto& process) { return process->state() == UnitProcess::State::kLost; };
  if (std::ranges::any_of(units_, is_lost)) lose();
}

void Card::lose() {
  journal_.error(Journal::kCard,
                 "lost; its registers and memory read as all ones until an xclbin is loaded again");
  units_.clear();
  lost_ = true;
}

}  // namespace annulus_sim
