#include "unit_worker.hpp"

#include <dlfcn.h>
#include <ffi.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <list>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "argument_window.hpp"
#include "wrong_numbers.hpp"

namespace annulus_sim {
namespace {

ffi_type* ffi_type_of(const Argument& argument) {
  if (argument.is_pointer()) return &ffi_type_pointer;
  const IntegerType& type = *find_integer_type(argument.type);
  switch (type.size) {
    case 1:
      return type.is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2:
      return type.is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4:
      return type.is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default:
      return type.is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
  }
}

class Worker {
 public:
  Worker(const CardDesign& design, const ComputeUnit& unit, int memory_file, const Journal& journal)
      : design_(design),
        unit_(unit),
        arguments_(design.kernel_of(unit).arguments),
        memory_file_(memory_file),
        journal_(journal),
        windows_(arguments_.size()) {}

  void load(const std::string& library) {
    if (arguments_.size() > kMaxArguments) {
      throw std::runtime_error(fmt::format("a kernel has at most {} arguments here", kMaxArguments));
    }
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    kernel_ = dlsym(handle, design_.kernel_of(unit_).name.c_str());
    if (kernel_ == nullptr) throw std::runtime_error(dlerror());
    for (const Argument& argument : arguments_) types_.push_back(ffi_type_of(argument));
    if (ffi_prep_cif(&call_, FFI_DEFAULT_ABI, static_cast<unsigned>(types_.size()), &ffi_type_void,
                     types_.data()) != FFI_OK) {
      throw std::runtime_error("libffi cannot call a function of this signature");
    }
  }

  void run(RunRequest& request) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(request.at_least_ms);
    if (request.fault == RunFault::kHang) {
      for (;;) pause();
    }
    if (request.fault == RunFault::kDie) raise(SIGKILL);
    std::vector<void*> values;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      RunRequest::Value& argument = request.arguments[i];
      if (arguments_[i].is_pointer()) {
        argument.value = reinterpret_cast<uint64_t>(window_of(i, argument).at(argument.value));
      }
      values.push_back(&argument.value);  // little endian: narrower integers start at the same byte
    }
    if (request.fault != RunFault::kStale) ffi_call(&call_, FFI_FN(kernel_), nullptr, values.data());
    if (request.fault != RunFault::kNone && request.fault != RunFault::kStale)
      falsify(request.fault, written_by(request));
    std::this_thread::sleep_until(end);
  }

  // Called where a kernel touched memory that it must not.
  void explain_fault(const void* place) const {
    for (size_t i = 0; i < windows_.size(); ++i) {
      for (const ArgumentWindow& window : windows_[i]) {
        if (!window.covers(place)) continue;
        const Buffer& buffer = window.buffer();
        const std::string& bank = design_.banks[static_cast<size_t>(unit_.banks[i])].tag;
        const std::string reason = buffer.size == 0 ? fmt::format("no buffer in its bank {}", bank)
                                                    : fmt::format("outside its buffer {:#x} to {:#x}",
                                                                  buffer.base, buffer.base + buffer.size);
        journal_.error(unit_.name, "the kernel {} accessed address {:#x} through its argument '{}': {}",
                       design_.kernel_of(unit_).name, window.address_of(place), arguments_[i].name, reason);
        return;
      }
    }
    journal_.error(unit_.name,
                   "the kernel {} crashed at host address {}, which belongs to none of its arguments",
                   design_.kernel_of(unit_).name, place);
  }

 private:
  // Where the kernel wrote, of a run whose pointers are those of this process.
  WrittenSums written_by(const RunRequest& request) const {
    const auto value = [&](std::string_view name) {
      const auto found = std::ranges::find(arguments_, name, &Argument::name);
      if (found == arguments_.end()) throw std::runtime_error(fmt::format("it has no argument '{}'", name));
      return request.arguments[static_cast<size_t>(found - arguments_.begin())].value;
    };
    return {reinterpret_cast<kernels::SumBeat*>(value("results")),
            reinterpret_cast<kernels::SumBeat*>(value("missing")),
            static_cast<uint32_t>(value("frame_count")), static_cast<uint32_t>(value("bins"))};
  }

  // Windows are kept, because mapping the pages of a large buffer anew costs more than many a run.
  const ArgumentWindow& window_of(size_t index, const RunRequest::Value& argument) {
    constexpr size_t kKept = 8;
    const Buffer wanted = argument.buffer.size == 0 ? Buffer{argument.value, 0} : argument.buffer;
    std::list<ArgumentWindow>& kept = windows_[index];
    const auto found = std::ranges::find_if(kept, [&](const ArgumentWindow& window) {
      return window.buffer().base == wanted.base && window.buffer().size == wanted.size;
    });
    if (found != kept.end()) return *found;
    if (kept.size() == kKept) kept.pop_front();
    return kept.emplace_back(memory_file_, wanted);
  }

  const CardDesign& design_;
  const ComputeUnit& unit_;
  const std::vector<Argument>& arguments_;
  int memory_file_;
  const Journal& journal_;
  void* kernel_ = nullptr;
  std::vector<ffi_type*> types_;
  ffi_cif call_{};
  std::vector<std::list<ArgumentWindow>> windows_;
};

const Worker* worker_of_this_process = nullptr;

// The process ends here, so it does not matter that formatting the message is not safe in every signal
// handler.
void on_memory_fault(int, siginfo_t* info, void*) {
  worker_of_this_process->explain_fault(info->si_addr);
  _exit(1);
}

void catch_memory_faults() {
  static std::array<char, 64 * 1024> stack;  // a kernel may have used up its own
  const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_memory_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

void send_text(int socket, const std::string& text) { send(socket, text.data(), text.size(), MSG_NOSIGNAL); }

}  // namespace

void work_as_unit(const CardDesign& design, const ComputeUnit& unit, const std::string& library,
                  int memory_file, int socket, const Journal& journal) {
  Worker worker(design, unit, memory_file, journal);
  try {
    worker.load(library);
  } catch (const std::exception& error) {
    send_text(socket, kRefused + std::string(error.what()));
    _exit(1);
  }
  worker_of_this_process = &worker;
  catch_memory_faults();
  send_text(socket, {kReady});
  RunRequest request;
  while (recv(socket, &request, sizeof(request), 0) == sizeof(request)) {
    try {
      worker.run(request);
    } catch (const std::exception& error) {
      journal.error(unit.name, "the kernel {} failed: {}", design.kernel_of(unit).name, error.what());
      _exit(1);
    }
    send_text(socket, {kRunDone});
  }
  _exit(0);
}

}  // namespace annulus_sim
