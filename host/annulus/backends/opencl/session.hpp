// One device with a plan in its memory; shared by the threads that give it frames.
#pragma once

#include <annulus/backends/opencl/choice.hpp>
#include <annulus/backends/opencl/device_memory.hpp>
#include <annulus/backends/opencl/devices.hpp>
#include <annulus/backends/opencl/profile.hpp>
#include <annulus/backends/opencl/robust_numbers.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace annulus::opencl {

struct SessionSettings {
  std::uint64_t memory = 0;           // bytes of the device to use; 0: all
  std::optional<Method> method = {};  // none: the fastest that was measured
  std::optional<Choice> choice = {};  // for tests: nothing is measured
  std::optional<bool> unified = {};   // for tests: whether device and host share memory
  bool check_bounds = false;          // kernels that look at every index
  std::shared_ptr<Profile> profile = {};
  std::string extra_source = {};  // for tests of what a compiler says
};

// As the kernels have it (kernels/plan.cl).
struct PlanNumbers {
  cl_uint pixels = 0;
  cl_uint bins = 0;
  cl_uint entries = 0;
  cl_uint square_shift = 0;
  cl_uint has_variance = 0;
  cl_uint has_dark = 0;
  cl_uint plain_low = 0;
  cl_uint plain_count = 0;
  cl_uint low = 0;  // these four are int32 or uint32, like the frames
  cl_uint high = 0;
  cl_uint dummy_low = 1;
  cl_uint dummy_high = 0;
};
PlanNumbers plan_numbers(const Job& job);

struct PlanBuffers {
  DeviceBuffer first, bins, weights;           // by pixel
  DeviceBuffer rows, row_pixels, row_weights;  // by bin; only where the method needs them
  DeviceBuffer row_divisors;                   // likewise, of recipes beyond sums
  DeviceBuffer normalization, dark;
};

class Session {
 public:
  // Compiles the kernels and brings the plan to the device. Throws kBackend: a plan that has no room, a
  // driver that does not compile.
  Session(Device device, const Job& job, SessionSettings settings);

  const Device& device() const { return device_; }
  const cl::Context& context() const { return context_; }
  const cl::Program& program() const { return program_; }
  const Job& job() const { return job_; }
  const Plan& plan() const { return *job_.plan; }
  const PlanNumbers& numbers() const { return numbers_; }

  // Whether the recipe takes the kernels for robust averages, which go by rows only; and what they are told.
  bool is_robust() const { return robust_.words > 0; }
  const RobustNumbers& robust() const { return robust_; }

  const PlanBuffers& buffers() const { return buffers_; }
  DeviceMemory& memory() const { return *memory_; }
  const Choice& choice() const { return choice_; }
  const SessionSettings& settings() const { return settings_; }
  bool unified() const { return unified_; }

  // Quantities of a result of sums: signal, variance, missing normalisation, counts and dark.
  std::uint32_t quantities() const { return 3 + numbers_.has_variance + numbers_.has_dark; }

  // What frames that are reduced side by side take beside the plan: about, as nobody knows yet how well they
  // are compressed. Of a codec that kernels decode.
  std::uint64_t batch_bytes(std::size_t frames, const Choice& choice, Codec codec) const;

  // Whether the device can do it that way at all, and has room for a frame of that codec.
  bool can(const Choice& choice, Codec codec) const;

  // Takes a choice: brings the form of the plan it needs to the device, and lets go of what it does not need.
  // Throws kBackend if there is no room, and leaves the choice before.
  void take(const Choice& choice);

  // Shares what memory is left among as many threads, each with a batch of its own, as have room for a frame
  // of any codec; at most `wanted`, at least one. Their number. Throws kBackend if not even a raw frame has
  // room.
  unsigned share_memory(unsigned wanted);

  // Bytes that the buffers of one batch may take together.
  std::uint64_t share() const { return share_ == 0 ? memory_->left() : share_; }

  // Frames side by side that have room in so many bytes, at least 1.
  std::size_t frames_at_once(std::uint64_t bytes, Codec codec) const;

 private:
  DeviceBuffer upload(const void* data, std::uint64_t bytes);
  void upload_plan();
  void upload_rows();
  std::uint64_t bytes_of_rows() const;
  std::uint64_t result_bytes() const;
  std::uint64_t left_beside(const Choice& choice) const;

  Device device_;
  Job job_;
  SessionSettings settings_;
  PlanNumbers numbers_;
  RobustNumbers robust_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
  std::shared_ptr<DeviceMemory> memory_;
  bool unified_ = false;
  PlanBuffers buffers_;
  Choice choice_;
  std::uint64_t share_ = 0;  // of one thread; 0: not shared yet
};

}  // namespace annulus::opencl
