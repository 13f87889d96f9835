#define XXH_INLINE_ALL
#include <annulus/core/atomic_file.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/core/private_folder.hpp>
#include <annulus/core/read_file.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/plan_file.hpp>

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace annulus {
namespace {

constexpr std::array<char, 8> kMagic = {'a', 'n', 'n', 'p', 'l', 'a', 'n', '\n'};
constexpr std::uint32_t kFormat = 3;  // to be raised with every change of the header or of the arrays
constexpr std::size_t kMostAxes = 2;
constexpr std::size_t kMostArrays = 8 + 2 * kMostAxes;
constexpr std::size_t kAlignment = 64;  // of arrays in the file, for vector loads
constexpr std::size_t kDigest = 64;     // characters of a SHA-256

struct PlanFileHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t unused = 0;
  std::array<char, kDigest> key = {};
  std::array<char, kDigest> hash = {};
  std::int32_t weight_bits = 0;
  std::int32_t variance_bits = 0;
  std::int32_t normalization_bits = 0;
  std::int32_t dark_bits = 0;
  // Elements of the arrays, in the order of for_each_array; 0 for those that a plan of fewer axes has not.
  std::array<std::uint64_t, kMostArrays> counts = {};
  std::array<std::uint64_t, 6> reserved = {};
  std::uint64_t content_checksum = 0;  // XXH3 of all that follows the header
  std::uint64_t header_checksum = 0;   // XXH3 of the header before this
};
static_assert(sizeof(PlanFileHeader) == 320 && std::has_unique_object_representations_v<PlanFileHeader>,
              "the header is the same bytes whoever compiles it");
static_assert(sizeof(PlanFileHeader) % kAlignment == 0);

template <typename AnyPlan, typename Visit>
void for_each_array(AnyPlan& plan, Visit&& visit) {
  for (auto& axis : plan.axes) {
    visit(axis.centres);
    visit(axis.edges);
  }
  visit(plan.totals.count);
  visit(plan.totals.normalization);
  visit(plan.totals.dark);
  visit(plan.matrix.first);
  visit(plan.matrix.bin);
  visit(plan.matrix.weight);
  visit(plan.normalization);
  visit(plan.dark);
}

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t checksum_of(const PlanFileHeader& header) {
  return XXH3_64bits(&header, offsetof(PlanFileHeader, header_checksum));
}

constexpr std::size_t padding_after(std::size_t bytes) {
  return (kAlignment - bytes % kAlignment) % kAlignment;
}

std::array<char, kDigest> as_digest(std::string_view text) {
  std::array<char, kDigest> digest{};
  std::copy_n(text.begin(), std::min(text.size(), kDigest), digest.begin());
  return digest;
}

// Calls use(bytes) for what follows the header, piece by piece.
template <typename Use>
void for_each_piece(const Plan& plan, Use&& use) {
  for_each_array(plan, [&](const auto& array) {
    const auto bytes = std::as_bytes(std::span(array.data(), array.size()));
    constexpr std::array<std::byte, kAlignment> kZeros{};
    use(bytes);
    use(std::span(kZeros).first(padding_after(bytes.size())));
  });
}

PlanFileHeader header_of(const std::string& key, const Plan& plan) {
  PlanFileHeader header;
  header.key = as_digest(key);
  header.hash = as_digest(plan.hash);
  header.weight_bits = plan.weight_bits;
  header.variance_bits = plan.variance_bits;
  header.normalization_bits = plan.normalization_bits;
  header.dark_bits = plan.dark_bits;
  std::size_t i = 0;
  for_each_array(plan, [&](const auto& array) { header.counts[i++] = array.size(); });
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for_each_piece(plan, [&](std::span<const std::byte> piece) {
    XXH3_64bits_update(state.get(), piece.data(), piece.size());
  });
  header.content_checksum = XXH3_64bits_digest(state.get());
  header.header_checksum = checksum_of(header);
  return header;
}

// Takes the arrays out of a file's content, in order. What does not fit is noticed by complete().
class ArrayTaker {
 public:
  ArrayTaker(const Bytes& content, const PlanFileHeader& header) : content_(content), header_(header) {}

  template <typename T>
  void operator()(SharedArray<T>& array) {
    const Bytes bytes = take(sizeof(T));
    array = SharedArray<T>(std::make_shared<const Bytes>(bytes),
                           {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)});
  }
  template <typename T>
  void operator()(std::vector<T>& array) {
    const Bytes bytes = take(sizeof(T));
    array.resize(bytes.size() / sizeof(T));
    if (!array.empty()) std::memcpy(array.data(), bytes.data(), bytes.size());
  }

  bool complete() const { return fits_ && at_ == content_.size(); }

 private:
  Bytes take(std::size_t element) {
    const std::uint64_t count = header_.counts[next_++];
    const std::size_t left = content_.size() - at_;
    fits_ = fits_ && count <= left / element && padding_after(count * element) <= left - count * element;
    if (!fits_) return {};
    const Bytes bytes = content_.slice(at_, count * element);
    at_ += bytes.size() + padding_after(bytes.size());
    return bytes;
  }

  const Bytes& content_;
  const PlanFileHeader& header_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
  bool fits_ = true;
};

std::uint32_t largest_of(std::span<const std::uint32_t> values) {
  std::uint32_t largest = 0;
  for (const std::uint32_t value : values) largest = std::max(largest, value);
  return largest;
}

// Whether all indices stay within what they point at. A checksum says that a file is as it was written; this
// says that it does no harm, whoever wrote it.
bool is_consistent(const Plan& plan) {
  const SparseMatrix& matrix = plan.matrix;
  for (const Axis& axis : plan.axes) {
    const std::size_t asked_for =
        axis.kind == AxisKind::kRadial ? plan.options.bins : plan.options.azimuth_bins.value_or(0);
    if (axis.centres.size() != asked_for || axis.edges.size() != asked_for + 1) return false;
  }
  const std::size_t bins = plan.bins(), pixels = plan.pixels();
  const bool dark = !plan.dark.empty();
  if (plan.totals.count.size() != bins || plan.totals.normalization.size() != bins ||
      plan.totals.dark.size() != (dark ? bins : 0) || matrix.first.size() != pixels + 1 ||
      matrix.bin.size() != matrix.weight.size() || plan.normalization.size() != pixels ||
      plan.dark.size() != (dark ? pixels : 0)) {
    return false;
  }
  if (plan.weight_bits < kMinWeightBits || plan.weight_bits > kMaxWeightBits || plan.variance_bits < 0 ||
      plan.variance_bits > std::min(kMaxVarianceBits, 2 * plan.weight_bits)) {
    return false;
  }
  bool ascending = matrix.first.front() == 0 && matrix.first.back() == matrix.bin.size();
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    ascending &= matrix.first[pixel] <= matrix.first[pixel + 1];
  }
  return ascending && (matrix.bin.empty() || largest_of(matrix.bin.view()) < bins) &&
         largest_of(matrix.weight.view()) <= std::uint32_t{1} << plan.weight_bits;
}

// Whether every pixel's weights sum to 2^weight_bits and the totals are those of the pixels. Not signed: sums
// of a file that somebody made up may wrap.
bool has_its_totals(const Plan& plan) {
  const SparseMatrix& matrix = plan.matrix;
  const bool dark = !plan.dark.empty();
  std::vector<std::uint64_t> count(plan.bins()), normalization(plan.bins()), darks(dark ? plan.bins() : 0);
  bool whole = true;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    const auto norm = static_cast<std::uint64_t>(std::int64_t{plan.normalization[pixel]});
    const auto of_dark = dark ? static_cast<std::uint64_t>(std::int64_t{plan.dark[pixel]}) : 0;
    std::uint64_t sum = 0;
    for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t bin = matrix.bin[entry];
      const std::uint64_t weight = matrix.weight[entry];
      sum += weight;
      count[bin] += weight;
      normalization[bin] += weight * norm;
      if (dark) darks[bin] += weight * of_dark;
    }
    whole &= sum == 0 || sum == std::uint64_t{1} << plan.weight_bits;
  }
  const auto same = [](const std::vector<std::uint64_t>& ours, const std::vector<std::int64_t>& theirs) {
    return std::ranges::equal(ours, theirs, {}, {}, [](auto v) { return static_cast<std::uint64_t>(v); });
  };
  return whole && same(count, plan.totals.count) && same(normalization, plan.totals.normalization) &&
         same(darks, plan.totals.dark);
}

std::string hash_of(const Plan& plan) {
  Sha256 sha;
  hash_beginning(sha, plan);
  return hash_end(sha, plan);
}

}  // namespace

void write_plan_file(const std::filesystem::path& path, const std::string& key, const Plan& plan) {
  const PlanFileHeader header = header_of(key, plan);
  AtomicFile file(path, kPrivateFileMode);
  file.write(std::as_bytes(std::span(&header, 1)));
  for_each_piece(plan, [&](std::span<const std::byte> piece) { file.write(piece); });
  file.commit();
}

bool read_plan_file(const std::filesystem::path& path, const std::string& key, Plan& plan, unsigned threads) {
  const auto fault = [&](std::string what) {
    return Error(ErrorKind::kInput, path.string(), std::move(what));
  };
  const auto mapped = map_file(path, ErrorKind::kInput, MapFrom::kTrusted);
  if (!mapped) return false;
  PlanFileHeader header;
  if (mapped->size() < sizeof(header)) {
    throw fault(fmt::format("is damaged: {} bytes are less than a header", mapped->size()));
  }
  std::memcpy(&header, mapped->data(), sizeof(header));
  if (header.magic != kMagic) throw fault("is no plan that annulus wrote");
  if (header.format != kFormat) {
    throw fault(fmt::format("is a plan in format {}, this program reads {}", header.format, kFormat));
  }
  if (header.header_checksum != checksum_of(header))
    throw fault("is damaged: the checksum of its header is wrong");
  if (header.key != as_digest(key)) throw fault("is the plan of other options");

  const Bytes content = mapped->slice(sizeof(header), mapped->size() - sizeof(header));
  plan.weight_bits = header.weight_bits;
  plan.variance_bits = header.variance_bits;
  plan.normalization_bits = header.normalization_bits;
  plan.dark_bits = header.dark_bits;
  plan.hash.assign(header.hash.begin(), header.hash.end());
  ArrayTaker take(content, header);
  for_each_array(plan, take);
  if (!take.complete())
    throw fault(fmt::format("is damaged: {} bytes do not hold its arrays", mapped->size()));
  // The hash takes longer than all else together, so it is computed beside it.
  std::string hash;
  SideTask hashing(threads, [&] { hash = hash_of(plan); });
  if (header.content_checksum != checksum(content.view())) throw fault("is damaged: its checksum is wrong");
  if (!is_consistent(plan) || !has_its_totals(plan))
    throw fault("is damaged: its arrays do not fit each other");
  hashing.finish();
  if (hash != plan.hash) throw fault("is not the plan that it says it is: its hash is wrong");
  return true;
}

}  // namespace annulus
