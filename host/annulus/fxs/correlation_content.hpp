// An open file of a correlation. Everything is read as it was written, or refused. All but the constructor
// expects an Hdf5Session to be alive, and throws kInput.
#pragma once

#include <annulus/correlation/legendre.hpp>
#include <annulus/fxs/correlation.hpp>
#include <annulus/fxs/correlation_layout.hpp>
#include <annulus/outputs/checked_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

class CorrelationContent {
 public:
  explicit CorrelationContent(const std::filesystem::path& path);

  hid_t file() const { return file_.handle.get(); }
  const CheckedFields& fields() const { return fields_; }
  const PolarShape& shape() const { return setup_.shape; }
  bool is_preview() const { return preview_; }

  CorrelationRecord record() const;
  CorrelationSums sums(std::uint64_t images) const;
  LegendreCoefficients coefficients() const;

  bool flag(const std::string& path) const;
  std::uint64_t number(const std::string& path) const;

  // All of a dataset that has just this shape.
  template <typename T>
  std::vector<T> values(const std::string& path, const std::vector<std::size_t>& extent) const {
    return read_into<std::vector<T>>(path, extent);
  }
  template <typename T>
  LargeVector<T> large_values(const std::string& path, const std::vector<std::size_t>& extent) const {
    return read_into<LargeVector<T>>(path, extent);
  }

 private:
  template <typename Vector>
  Vector read_into(const std::string& path, const std::vector<std::size_t>& extent) const {
    using T = typename Vector::value_type;
    check(path, correlation_layout::type_of<T>(), extent);
    Vector values(std::accumulate(extent.begin(), extent.end(), std::size_t{1}, std::multiplies<>()));
    if (!values.empty()) read(path, correlation_layout::type_of<T>(), values.data());
    return values;
  }

  void read_shape();
  void check(const std::string& path, hid_t type, const std::vector<std::size_t>& extent) const;
  void read(const std::string& path, hid_t type, void* values) const;
  std::size_t length_of(const std::string& path) const;
  std::vector<std::string> texts(const std::string& path) const;
  SnapshotTable snapshots() const;
  std::optional<LegendreChoice> legendre() const;

  // Closes with the lock of HDF5 held.
  struct OpenFile {
    Hdf5Handle handle;
    ~OpenFile();
  };

  std::filesystem::path path_;
  OpenFile file_;
  CheckedFields fields_;
  CorrelationSetup setup_;  // shape, rings and scale
  bool preview_ = false;
};

}  // namespace annulus
