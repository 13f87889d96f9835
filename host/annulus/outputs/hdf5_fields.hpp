// The few HDF5 calls that the writer and the reader of output files share. Every function expects an
// Hdf5Session to be alive.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/hdf5/handle.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// The file that `object` lives in, for messages.
std::string file_name_of(hid_t object);

// Throws an error that names the file of `object` and HDF5's reason.
[[noreturn]] void throw_hdf5(ErrorKind kind, hid_t object, std::string_view what);

// A text that is stored with its own length. HDF5 keeps texts of variable length in heaps of their own, whose
// structure it trusts: it crashes on a byte that changed there, today or tomorrow, so that no probe helps. A
// text of fixed length is harmless. h5py gives it as bytes.
struct FixedText {
  std::string_view text;
};

// Groups, scalars and attributes that are written once, when a file is created. They throw kOutput. HDF5
// stores no time of their making: the same content gives the same bytes.
Hdf5Handle create_group(hid_t parent, const std::string& name, const char* nx_class);
// More than eight would be kept in a heap of their own, which the library trusts.
Hdf5Handle create_group_of_many_attributes(hid_t parent, const std::string& name, const char* nx_class);
Hdf5Handle create_ordered_group(hid_t parent, const std::string& name, const char* nx_class);  // kAsCreated
void write_attribute(hid_t object, const char* name, std::string_view text);
void write_attribute(hid_t object, const char* name, FixedText text);
void write_attribute(hid_t object, const char* name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const char* name, const std::vector<FixedText>& texts);
void write_attribute(hid_t object, const char* name, double value);
void write_attribute(hid_t object, const char* name, std::int32_t value);
void write_text(hid_t parent, const std::string& name, std::string_view text);
void write_text(hid_t parent, const std::string& name, FixedText text);
void write_flag(hid_t parent, const char* name, bool value);  // an enumeration that h5py reads as a bool
Hdf5Handle write_number(hid_t parent, const char* name, double value, const char* units);
Hdf5Handle write_number(hid_t parent, const char* name, std::uint64_t value);
// A number that is there already, as write_number made it.
void overwrite_number(hid_t file, const char* path, std::uint64_t value);
// rows = 0: one dimension; else two, with so many rows.
Hdf5Handle write_array(hid_t parent, const char* name, const std::vector<double>& values,
                       std::size_t rows = 0);
Hdf5Handle write_array(hid_t parent, const char* name, const std::vector<std::int64_t>& values,
                       std::size_t rows = 0);

// Reading: nothing if the object is absent or of another kind.
enum class TextLength { kAny, kFixed };
std::optional<std::string> read_text(hid_t parent, const std::string& path,
                                     TextLength length = TextLength::kAny);
std::optional<std::string> read_text_attribute(hid_t parent, const std::string& path, const char* name,
                                               TextLength length = TextLength::kAny);
std::optional<bool> read_flag(hid_t parent, const std::string& path);  // as write_flag() made it
std::optional<std::uint64_t> read_whole_number(hid_t parent, const std::string& path);
std::optional<double> read_number_attribute(hid_t parent, const std::string& path, const char* name);
std::optional<std::vector<double>> read_doubles(hid_t parent, const std::string& path,
                                                std::size_t most_values);

// A list of texts of fixed length; nothing if it is longer than `most`.
std::optional<std::vector<std::string>> read_texts_attribute(hid_t parent, const std::string& path,
                                                             const char* name, std::size_t most);

// The names of what is in a group; nothing if there is no such group. By name where the group does not know
// in which order they were created.
enum class NameOrder { kByName, kAsCreated };
std::vector<std::string> names_in_group(hid_t parent, const std::string& path,
                                        NameOrder order = NameOrder::kByName);

// False for every step of the path that does not exist, without an error.
bool has_object(hid_t parent, const std::string& path);

// What a probe does (hdf5/probe.hpp): finds all objects of a file and where their values lie.
void touch_objects(hid_t file);

}  // namespace annulus
