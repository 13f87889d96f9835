#include <annulus/formats/checks.hpp>
#include <annulus/formats/hdf5.hpp>
#include <annulus/formats/hdf5_dataset.hpp>
#include <annulus/formats/hdf5_find.hpp>
#include <annulus/formats/header_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace annulus {
namespace {

class Hdf5Source : public FrameSource {
 public:
  Hdf5Source(const std::string& path, const std::string& dataset) : path_(path) {
    const Hdf5Session session;
    open_file();
    const auto paths = dataset.empty() ? find_image_datasets(path_, file_.get()) : std::vector{dataset};
    info_.frames = 0;
    for (const auto& name : paths) add(Hdf5Dataset(file_.get(), path_, name));
    info_.format = "HDF5";
    read_metadata(paths.front());
  }

  ~Hdf5Source() override {
    const Hdf5Session session;
    datasets_.clear();
    file_ = {};
  }

  const SourceInfo& info() const override { return info_; }

  Frame read(std::uint64_t i) const override {
    check_frame_index(path_, info_, i);
    const Hdf5Session session;
    for (const auto& dataset : datasets_) {
      if (i < dataset.frames()) return make_frame(info_, dataset.url(), i, dataset.read(i));
      i -= dataset.frames();
    }
    throw input_error(path_, "no such frame");
  }

 private:
  void open_file() {
    file_ = Hdf5Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file_) return;
    // A file that somebody is writing opens only in the mode made for that.
    H5Eclear2(H5E_DEFAULT);
    file_ = Hdf5Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT), H5Fclose);
    if (file_) return;
    H5Eclear2(H5E_DEFAULT);
    // Once more for the message, which is about the plain mode then.
    file_ = Hdf5Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file_) return;
    throw hdf5_error(path_, "cannot be opened as HDF5",
                     "copy it again if it is damaged; wait if it is being written");
  }

  void add(Hdf5Dataset dataset) {
    if (datasets_.empty()) {
      info_.type = dataset.type();
      info_.shape = dataset.shape();
    } else if (dataset.type() != info_.type || dataset.shape() != info_.shape) {
      throw input_error(
          dataset.url(),
          fmt::format("{} {}, but {} is {} {}", to_string(dataset.shape()), name_of(dataset.type()),
                      datasets_.front().url(), to_string(info_.shape), name_of(info_.type)),
          "name one dataset");
    }
    info_.frames += dataset.frames();
    info_.header.emplace_back("dataset", dataset.url());
    datasets_.push_back(std::move(dataset));
  }

  // What NXmx and DECTRIS files say in the entry that the dataset belongs to.
  void read_metadata(const std::string& dataset) {
    const auto end = dataset.find('/', 1);
    if (!dataset.starts_with('/') || end == std::string::npos) return;
    const std::string instrument = dataset.substr(0, end) + "/instrument";
    for (const char* name :
         {"/detector/detectorSpecific/countrate_correction_count_cutoff", "/detector/saturation_value"}) {
      const auto number = read_number(file_.get(), instrument + name);
      if (!number || !(number->value >= 1) || !(number->value < 0x1p53)) continue;
      info_.max_count = static_cast<std::int64_t>(number->value);
      break;
    }
    for (const char* name : {"/beam/incident_wavelength", "/monochromator/wavelength"}) {
      const auto number = read_number(file_.get(), instrument + name);
      if (!number || !(number->value > 0)) continue;
      const auto metres = metres_per(number->units);
      if (!metres) continue;
      info_.wavelength = number->value * *metres;
      break;
    }
  }

  // Wavelengths in NeXus files are in Angstrom where nothing else is said.
  static std::optional<double> metres_per(std::string_view units) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"", 1e-10},         {"A", 1e-10}, {"angstrom", 1e-10}, {"angstroms", 1e-10},
        {"\xc3\x85", 1e-10}, {"nm", 1e-9}, {"pm", 1e-12},       {"m", 1}};
    for (const auto& [name, metres] : kUnits) {
      if (equal_ignoring_case(units, name)) return metres;
    }
    return std::nullopt;
  }

  std::string path_;
  Hdf5Handle file_;
  std::vector<Hdf5Dataset> datasets_;
  SourceInfo info_;
};

}  // namespace

bool looks_like_hdf5(std::span<const std::byte> head) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  const std::string_view text = as_text(head);
  // A user block of 512 bytes or a power of two more may come first.
  for (std::size_t at = 0; at < text.size(); at = at == 0 ? 512 : 2 * at) {
    if (text.substr(at).starts_with(kSignature)) return true;
  }
  return false;
}

std::unique_ptr<FrameSource> open_hdf5(const std::string& path, const std::string& dataset) {
  return std::make_unique<Hdf5Source>(path, dataset);
}

}  // namespace annulus
