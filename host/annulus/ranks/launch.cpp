#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/ranks/ranks.hpp>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace annulus {
namespace {

struct Starter {
  const char* rank;
  const char* size;
};

// What the ways to start MPI programs tell them. Slurm's batch scripts have variables of their own, which
// mean nothing here: what runs in one without srun or mpirun is one process.
constexpr std::array<Starter, 3> kStarters = {
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI's mpirun
     {"PMI_RANK", "PMI_SIZE"},                          // MPICH's and Intel's mpirun; srun with PMI2
     {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}};           // srun with PMIx

std::optional<unsigned> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  unsigned number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault == std::errc() && end == digits.data() + digits.size()) return number;
  throw Error(ErrorKind::kUsage, variable, in_quotes(digits) + " in the environment is not a number",
              "start the program with mpirun or srun, or unset this variable");
}

}  // namespace

Launch launch_of_environment() {
  // For what runs inside of somebody else's rank, and is no rank itself.
  const char* const wanted = std::getenv("ANNULUS_MPI");
  if (wanted != nullptr && std::string_view(wanted) == "off") return {};
  for (const Starter& starter : kStarters) {
    const std::optional<unsigned> rank = number_in(starter.rank);
    if (rank) return {number_in(starter.size).value_or(0), *rank, starter.rank};
  }
  return {};
}

}  // namespace annulus
