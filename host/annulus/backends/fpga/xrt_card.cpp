#include <annulus/backends/fpga/xrt_card.hpp>
#include <annulus/backends/fpga/xrt_headers.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

namespace annulus {
namespace {

// XRT's emulation opens whatever index it is asked for, though there is one card.
bool is_emulation() { return std::getenv("XCL_EMULATION_MODE") != nullptr; }

constexpr std::chrono::milliseconds kSettlingTime{100};

bool is_index(const std::string& device) {
  return !device.empty() && device.size() <= 3 &&
         std::all_of(device.begin(), device.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// XRT reads past the end of a file that is cut, so its size is compared with what it says of itself.
void check_xclbin(const std::string& path) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorKind::kBackend, path, what, "check `xclbin` or ANNULUS_XCLBIN");
  };
  if (!std::filesystem::is_regular_file(path)) refuse("there is no such xclbin");
  axlf head = {};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&head), sizeof(head));
  if (!file || std::memcmp(head.m_magic, "xclbin2", 8) != 0) refuse("it is not an xclbin");
  if (head.m_header.m_length != std::filesystem::file_size(path))
    refuse("it is damaged: its size is not what it says");
}

xrt::device open_device(const std::string& device) {
  try {
    if (!is_index(device)) return xrt::device(device);
    const auto index = static_cast<unsigned>(std::stoul(device));
    if (is_emulation() && index > 0) throw std::runtime_error("the emulated card has index 0");
    return xrt::device(index);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kBackend, fmt::format("card {}", device),
                fmt::format("it cannot be opened: {}", error.what()),
                "`describe_backends()` lists the cards there are");
  }
}

std::string describe(const xrt::device& device) {
  std::string text = device.get_info<xrt::info::device::name>();
  try {
    text += " at " + device.get_info<xrt::info::device::bdf>();
  } catch (const std::exception&) {
    // An emulated card has no address.
  }
  const std::string uuid = device.get_xclbin_uuid().to_string();
  const bool empty = uuid.find_first_not_of("0-") == std::string::npos;
  return text + (empty ? ", nothing loaded" : ", loaded: xclbin " + uuid);
}

// What a card was lost for, and why it stays so.
std::string not_reopened(const std::string& reason, const std::exception& error) {
  return fmt::format("{}; and it cannot be reopened: {}", reason, error.what());
}

}  // namespace

XrtCard::XrtCard(std::string device, const XrtOptions& options)
    : device_name_(std::move(device)), options_(options), name_(fmt::format("card {}", device_name_)) {
  if (options_.xclbin.empty()) {
    throw Error(ErrorKind::kUsage, "`xclbin`", "the xrt backend needs the kernels for the card",
                "give `xclbin` or set ANNULUS_XCLBIN");
  }
  check_xclbin(options_.xclbin);
  device_ = open_device(device_name_);
  std::string reason;
  try {
    open_session();
    return;
  } catch (const CardLost& lost) {
    reason = lost.what();
  }
  if (!options_.retry_device) throw lost_error(reason);
  try {
    open_session();
    recovered_ = true;
  } catch (const std::exception& error) {
    throw lost_error(not_reopened(reason, error));
  }
}

void XrtCard::load_xclbin() {
  xrt::uuid uuid;
  try {
    uuid = device_.load_xclbin(options_.xclbin);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kBackend, options_.xclbin,
                fmt::format("{} cannot load it: {}", name_, error.what()),
                loaded_ ? "" : "is it an xclbin for this card? 'xbutil examine' shows the card's platform");
  }
  loaded_ = true;
  if (device_.get_xclbin_uuid() != uuid) {
    throw Error(ErrorKind::kBackend, options_.xclbin, fmt::format("{} has another xclbin loaded", name_),
                "end the program that uses the card");
  }
}

void XrtCard::DestroyIfEnded::operator()(const xrt::run* run) const {
  if (has_ended(*run)) delete run;
}

// Whether something still runs, or waits for its turn, that nobody waits for any more.
bool XrtCard::busy() const {
  return (session_ && session_->busy()) || (abandoned_ && !has_ended(*abandoned_));
}

// Loading the xclbin ends all runs, but a thread of XRT finds that out in its own time. Until then it reads
// and writes what a run holds.
void XrtCard::await_runs() const {
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_seconds());
  while (busy()) {
    if (Clock::now() > end) throw CardLost("runs do not end even after loading its xclbin");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// In this order: a run that never ended may only be destroyed after the xclbin was loaded again and XRT has
// seen its end, and XRT gives new kernels the stale insides of old ones as long as those live.
void XrtCard::open_session() {
  const bool abandoned_runs = busy();
  load_xclbin();
  if (abandoned_runs) {
    // XRT now starts what waited behind the run that hung, with addresses that mean nothing any more. Let it
    // come to its end, and the card to notice, and start afresh.
    await_runs();
    std::this_thread::sleep_for(kSettlingTime);
    load_xclbin();
  }
  abandoned_.reset();
  session_.reset();
  try {
    session_ = std::make_unique<XrtSession>(device_, options_.xclbin, timeout_seconds());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& lost) {
    const auto* const card_lost = dynamic_cast<const CardLost*>(&lost);
    if (card_lost != nullptr && card_lost->run()) abandoned_.reset(new xrt::run(card_lost->run()));
    try {
      load_xclbin();
      await_runs();
    } catch (const std::exception& error) {
      throw CardLost(not_reopened(lost.what(), error));
    }
    throw CardLost(lost.what());
  }
}

void XrtCard::with_session(const std::function<void(XrtSession&)>& use) {
  while (true) {
    const unsigned generation = enter();
    std::optional<std::string> reason;
    try {
      use(*session_);
    } catch (const Error&) {
      leave();
      throw;
    } catch (const std::bad_alloc&) {
      leave();
      throw;
    } catch (const std::exception& error) {
      reason = error.what();  // CardLost, or XRT's own: a transfer or a start that failed
    }
    leave();
    if (!reason) return;
    recover(generation, *reason);
  }
}

unsigned XrtCard::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || !session_->lost; });
  if (failure_) throw *failure_;
  ++users_;
  return generation_;
}

void XrtCard::leave() {
  const std::lock_guard lock(mutex_);
  --users_;
  changed_.notify_all();
}

void XrtCard::recover(unsigned generation, const std::string& reason) {
  std::unique_lock lock(mutex_);
  if (failure_) throw *failure_;
  if (generation_ != generation || session_->lost.exchange(true)) return;  // somebody else sees to it
  // Those that still wait for the card see that it is lost and leave.
  changed_.wait(lock, [this] { return users_ == 0; });
  try {
    open_session();  // even if nobody wants it: see there
    ++generation_;
    if (!options_.retry_device || recovered_) failure_ = lost_error(reason);
    recovered_ = true;
  } catch (const std::exception& error) {
    failure_ = lost_error(not_reopened(reason, error));
    // With runs that never ended in it, it cannot be destroyed.
    [[maybe_unused]] const auto* const abandoned = session_.release();
  }
  changed_.notify_all();
  if (failure_) throw *failure_;
}

Error XrtCard::lost_error(const std::string& reason) const {
  std::string cure = "run again; with `retry_device` it is reopened once. 'xbutil examine' shows its state";
  if (options_.retry_device) cure = "'xbutil examine' and 'xbutil reset' help";
  if (recovered_) cure = "it was reopened once before; " + cure;
  return Error(ErrorKind::kBackend, name_, fmt::format("the card is lost: {}", reason), cure);
}

std::vector<CardDescription> describe_cards() {
  const unsigned count = is_emulation() ? 1 : xrt::system::enumerate_devices();
  return describe_cards(count, [](unsigned index) { return describe(xrt::device(index)); });
}

std::vector<CardDescription> describe_cards(unsigned count,
                                            const std::function<std::string(unsigned)>& describe) {
  std::vector<CardDescription> cards;
  for (unsigned index = 0; index < count; ++index) {
    try {
      cards.push_back({fmt::format("{}: {}", index, describe(index)), true});
    } catch (const std::exception& error) {
      cards.push_back({fmt::format("{}: cannot be opened: {}", index, error.what()), false});
    }
  }
  return cards;
}

}  // namespace annulus
