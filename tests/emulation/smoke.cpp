// A host program that drives the emulated card through XRT's native interface, one scenario a run; it prints
// what it saw as "name value" lines for test_emulation.py to judge.
#include <fmt/format.h>
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Card {
  xrt::device device{0};
  xrt::uuid xclbin = load();

  xrt::uuid load() { return device.load_xclbin(std::string(std::getenv("ANNULUS_XCLBIN"))); }
  xrt::kernel unit(const std::string& kernel, const std::string& unit) {
    return {device, xclbin, kernel + ":{" + unit + "}", xrt::kernel::cu_access_mode::exclusive};
  }
};

// One unit of add_vectors with buffers for `count` numbers.
struct Adder {
  Adder(Card& card, const std::string& name, uint32_t count)
      : kernel(card.unit("add_vectors", name)),
        left(card.device, count * sizeof(uint32_t), kernel.group_id(0)),
        right(card.device, count * sizeof(uint32_t), kernel.group_id(1)),
        sums(card.device, count * sizeof(uint32_t), kernel.group_id(2)),
        count(count) {
    std::iota(left.map<uint32_t*>(), left.map<uint32_t*>() + count, 7u);
    for (uint32_t i = 0; i < count; ++i) right.map<uint32_t*>()[i] = 3 * i;
    left.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    right.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }

  xrt::run start(uint32_t n) { return kernel(left, right, sums, n); }

  uint32_t wrong() {
    sums.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    uint32_t errors = 0;
    for (uint32_t i = 0; i < count; ++i) errors += sums.map<uint32_t*>()[i] != 7 + 4 * i;
    return errors;
  }

  xrt::kernel kernel;
  xrt::bo left, right, sums;
  uint32_t count;
};

// XRT's emulation ignores the timeout of wait(), so the state is polled.
bool ends_within(const xrt::run& run, double ms) {
  const auto start = Clock::now();
  while (run.state() != ERT_CMD_STATE_COMPLETED) {
    if (since(start) > ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void add() {
  Card card;
  const uint32_t counts[] = {1, 1000, 6u << 20};  // the last takes more than one message
  for (const uint32_t count : counts) {
    Adder adder(card, "add_vectors_1", count);
    adder.start(count).wait();
    fmt::print("wrong {}\n", adder.wrong());
  }
}

void echo() {
  Card card;
  const std::string names[] = {"first_echo", "second_echo", "first_echo"};
  for (const std::string& name : names) {
    xrt::kernel kernel = card.unit("echo_arguments", name);
    xrt::bo values(card.device, 10 * sizeof(int64_t), kernel.group_id(0));
    kernel(values, int8_t{-5}, uint8_t{250}, int16_t{-30000}, uint16_t{60000}, int32_t{-2000000000},
           uint32_t{4000000000}, int64_t{-9000000000000000000}, uint64_t{0x123456789abcdef0}, uint32_t{2})
        .wait();
    values.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const int64_t* value = values.map<int64_t*>();
    fmt::print("{} {}\n", name, fmt::join(value, value + 10, " "));
  }
}

void overlap() {
  Card card;
  Adder first(card, "add_vectors_1", 100), second(card, "add_vectors_2", 100);
  auto start = Clock::now();
  xrt::run runs[] = {first.start(100), second.start(100)};
  fmt::print("busy {}\n", !ends_within(runs[0], 20) && !ends_within(runs[1], 20));
  for (xrt::run& run : runs) run.wait();
  fmt::print("two_units_ms {}\n", since(start));
  start = Clock::now();
  xrt::run queued[] = {first.start(100), first.start(100)};
  for (xrt::run& run : queued) run.wait();
  fmt::print("one_unit_ms {}\n", since(start));
  fmt::print("wrong {}\n", first.wrong() + second.wrong());
}

void times() {
  Card card;
  Adder adder(card, "add_vectors_1", 1 << 20);
  auto start = Clock::now();
  adder.left.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  fmt::print("upload_ms {}\n", since(start));
  start = Clock::now();
  adder.left.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  fmt::print("download_ms {}\n", since(start));
  xrt::kernel kernel = card.unit("echo_arguments", "first_echo");
  xrt::bo values(card.device, 4096, kernel.group_id(0));
  start = Clock::now();
  kernel(values, int8_t{0}, uint8_t{0}, int16_t{0}, uint16_t{0}, int32_t{0}, uint32_t{0}, int64_t{0},
         uint64_t{0}, uint32_t{50})
      .wait();
  fmt::print("frames_ms {}\n", since(start));
}

// Runs until the card is lost, then loads the xclbin again, twice if need be, and runs once more.
void recover(uint32_t count, uint32_t n) {
  Card card;
  bool lost = false;
  std::vector<xrt::run> unfinished;  // XRT must not free a run in flight; loading frees it
  for (int round = 0; round < 3; ++round) {
    Adder adder(card, "add_vectors_1", count);
    const xrt::run run = adder.start(lost ? count : n);
    if (!ends_within(run, 5000)) {
      fmt::print("hung\n");
      unfinished.push_back(run);
    } else if (adder.kernel.read_register(0x10) == 0xffffffff) {
      fmt::print("lost\n");
    } else {
      fmt::print("wrong {}\n", adder.wrong());
      if (lost) return;
      continue;
    }
    lost = true;
    card.load();
  }
}

void outside() { recover(1024, 1025); }  // 1024 numbers fill a page exactly
void far_outside() { recover(1024, 4000000000); }
void fault() { recover(1024, 1024); }

// By its address, because a buffer object in the wrong bank XRT itself refuses.
void foreign_bank() {
  Card card;
  Adder adder(card, "add_vectors_1", 100);
  xrt::run run(adder.kernel);
  run.set_arg(0, adder.left);
  run.set_arg(1, adder.right);
  run.set_arg(2, adder.left.address());
  run.set_arg(3, uint32_t{1});
  run.start();
  run.wait();
  fmt::print("lost {}\n", adder.kernel.read_register(0x10) == 0xffffffff);
}

void unset_argument() {
  Card card;
  Adder adder(card, "add_vectors_2", 100);
  xrt::run run(adder.kernel);
  run.set_arg(0, adder.left);
  run.set_arg(1, adder.right);
  run.set_arg(3, uint32_t{1});
  run.start();
  run.wait();
  fmt::print("lost {}\n", adder.kernel.read_register(0x10) == 0xffffffff);
}

void protocol() {
  Card card;
  xrt::kernel kernel = card.unit("break_protocol", "break_protocol_1");
  xrt::bo unused(card.device, 4096, kernel.group_id(0));
  kernel(unused).wait();
  fmt::print("lost {}\n", kernel.read_register(0x10) == 0xffffffff);
}

void full_bank() {
  Card card;
  xrt::kernel kernel = card.unit("add_vectors", "add_vectors_1");
  try {
    xrt::bo huge(card.device, size_t{513} << 20, kernel.group_id(0));
    fmt::print("fits\n");
  } catch (const std::bad_alloc&) {
    fmt::print("full\n");
  }
}

void load() {
  xrt::device device(0);
  for (int round = 0; round < 2; ++round) {
    try {
      device.load_xclbin(std::string(std::getenv("ANNULUS_XCLBIN")));
      fmt::print("loaded\n");
    } catch (const std::exception&) {
      fmt::print("refused\n");
    }
  }
}

void wait_forever() {
  Card card;
  Adder adder(card, "add_vectors_1", 100);
  const xrt::run run = adder.start(100);
  fmt::print("ready {}\n", getpid());
  std::fflush(stdout);
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> scenarios = {{"add", add},
                                                                  {"echo", echo},
                                                                  {"overlap", overlap},
                                                                  {"times", times},
                                                                  {"outside", outside},
                                                                  {"far_outside", far_outside},
                                                                  {"fault", fault},
                                                                  {"foreign_bank", foreign_bank},
                                                                  {"unset_argument", unset_argument},
                                                                  {"protocol", protocol},
                                                                  {"full_bank", full_bank},
                                                                  {"load", load},
                                                                  {"wait_forever", wait_forever}};
  const auto scenario = scenarios.find(argc == 2 ? argv[1] : "");
  if (scenario == scenarios.end()) {
    fmt::print(stderr, "emulation_smoke: name one scenario\n");
    return 2;
  }
  scenario->second();
  return 0;
}
