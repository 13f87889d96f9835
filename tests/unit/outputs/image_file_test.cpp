// Files of images: what is written is read, nothing of others is destroyed, damage is named.
#include <annulus/hdf5/probe.hpp>
#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/reader.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <set>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::HasSubstr;

GridImage make_image(const std::string& name, std::size_t rows, std::size_t columns) {
  GridImage image{name, "intensity of " + name, "counts", {"samz", "mm", {}}, {"samy", "", {}}, {}};
  for (std::size_t i = 0; i < rows; ++i) image.rows.positions.push_back(0.1 * static_cast<double>(i * i) - 3);
  for (std::size_t i = 0; i < columns; ++i) image.columns.positions.push_back(1e6 + static_cast<double>(i));
  for (std::size_t i = 0; i < rows * columns; ++i)
    image.values.push_back(i % 5 == 3 ? std::nan("") : 1.0 / static_cast<double>(i + 1));
  return image;
}

ImageFileInfo make_info() {
  ImageFileInfo info;
  info.version = "1.2.3";
  info.date = "2026-01-02T03:04:05+01:00";
  info.title = "two maps of ä";
  info.kind = "map";
  info.facts = {{"input", "/data/run.nxs"}, {"z_last", 2.5}, {"a_first", ""}};
  return info;
}

void expect_same(const GridImage& got, const GridImage& wanted) {
  EXPECT_EQ(got.name, wanted.name);
  EXPECT_EQ(got.title, wanted.title);
  EXPECT_EQ(got.unit, wanted.unit);
  for (const auto axis : {&GridImage::rows, &GridImage::columns}) {
    EXPECT_EQ((got.*axis).name, (wanted.*axis).name);
    EXPECT_EQ((got.*axis).unit, (wanted.*axis).unit);
    EXPECT_EQ((got.*axis).positions, (wanted.*axis).positions);
  }
  ASSERT_EQ(got.values.size(), wanted.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    if (std::isnan(wanted.values[i])) {
      EXPECT_TRUE(std::isnan(got.values[i])) << i;
    } else {
      EXPECT_EQ(got.values[i], wanted.values[i]) << i;
    }
  }
}

std::set<std::string> names_in(const Folder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(ImageFile, GivesBackWhatWasWritten) {
  const Folder folder;
  const std::vector<GridImage> images{make_image("z_map", 4, 3), make_image("a_map", 1, 7)};
  write_images(make_info(), images, folder / "a.nxs", false);
  const StoredImages stored = read_images(folder / "a.nxs");
  ASSERT_EQ(stored.images.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) expect_same(stored.images[i], images[i]);
  const ImageFileInfo wanted = make_info();
  EXPECT_EQ(stored.info.program, "annulus");
  EXPECT_EQ(stored.info.version, wanted.version);
  EXPECT_EQ(stored.info.date, wanted.date);
  EXPECT_EQ(stored.info.title, wanted.title);
  EXPECT_EQ(stored.info.kind, wanted.kind);
  EXPECT_EQ(stored.info.facts, wanted.facts);
  EXPECT_EQ(stored.file, folder / "a.nxs");
  EXPECT_EQ(names_in(folder), std::set<std::string>{"a.nxs"});
}

TEST(ImageFile, TheSameImagesGiveTheSameBytesAnotherDateOnlyThat) {
  const Folder folder;
  const std::vector<GridImage> images{make_image("map", 40, 30), make_image("other", 40, 30)};
  ImageFileInfo info = make_info();
  write_images(info, images, folder / "a.nxs", false);
  ::sleep(2);  // what HDF5 would store of the time has seconds
  write_images(info, images, folder / "b.nxs", false);
  const std::string first = samples::read_file(folder / "a.nxs");
  EXPECT_TRUE(first == samples::read_file(folder / "b.nxs"));
  info.date.back() = '7';
  write_images(info, images, folder / "c.nxs", false);
  const std::string other = samples::read_file(folder / "c.nxs");
  ASSERT_EQ(first.size(), other.size());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < first.size(); ++i) differences += first[i] != other[i] ? 1 : 0;
  EXPECT_EQ(differences, 2u) << "the date is an attribute of the root and a field of the process";
}

TEST(ImageFile, TakesThePlaceOfAnOlderOneOnly) {
  const Folder folder;
  write_images(make_info(), {make_image("old", 2, 2)}, folder / "a.nxs", false);
  ASSERT_EQ(::chmod((folder / "a.nxs").c_str(), 0640), 0);
  const auto write = [&](bool overwrite, const std::string& name = "a.nxs") {
    write_images(make_info(), {make_image("fresh", 2, 2)}, folder / name, overwrite);
  };
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write(false); }), HasSubstr("exists already"));
  EXPECT_EQ(read_images(folder / "a.nxs").images.front().name, "old");

  std::filesystem::create_symlink("a.nxs", folder / "link.nxs");
  const int reader = ::open((folder / "a.nxs").c_str(), O_RDONLY);
  write(true, "link.nxs");
  EXPECT_EQ(read_images(folder / "a.nxs").images.front().name, "fresh");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.nxs"));
  struct stat before {
  }, after{};
  ::fstat(reader, &before);
  ::stat((folder / "a.nxs").c_str(), &after);
  ::close(reader);
  EXPECT_NE(before.st_ino, after.st_ino) << "who has the old one open keeps it";
  EXPECT_EQ(after.st_mode & 0777, 0640u);

  std::ofstream(folder / "empty.nxs");
  write(true, "empty.nxs");
  EXPECT_EQ(derived_file(folder / "empty.nxs"), DerivedFile::kImages);
}

TEST(ImageFile, NothingOfOthersIsTouched) {
  const Folder folder;
  std::ofstream(folder / "text.nxs") << "mine";
  const auto plan = samples::make_plan();
  open_nexus(folder / "patterns.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse)->close();
  { H5Fclose(H5Fcreate((folder / "other.nxs").c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)); }
  for (const char* name : {"text.nxs", "patterns.nxs", "other.nxs"}) {
    const std::string before = samples::read_file(folder / name);
    EXPECT_THAT(
        message_of(ErrorKind::kOutput,
                   [&] { write_images(make_info(), {make_image("map", 2, 2)}, folder / name, true); }),
        HasSubstr("is not a file of images that annulus wrote, so it is not touched"));
    EXPECT_TRUE(samples::read_file(folder / name) == before) << name;
    EXPECT_EQ(derived_file(folder / name), DerivedFile::kNone);
  }
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"text.nxs", "patterns.nxs", "other.nxs"}));
}

TEST(ImageFile, IsNoOutputOfPatternsNorADamagedOne) {
  const Folder folder;
  write_images(make_info(), {make_image("map", 2, 2)}, folder / "a.nxs", false);
  EXPECT_FALSE(is_annulus_output(folder / "a.nxs"));
  EXPECT_FALSE(was_annulus_output(folder / "a.nxs"));
  EXPECT_EQ(derived_file(folder / "a.nxs"), DerivedFile::kImages);
  EXPECT_EQ(derived_file(folder / "absent.nxs"), DerivedFile::kNone);
}

TEST(ImageFile, RefusesImagesThatAreNone) {
  const Folder folder;
  const auto fault = [&](const std::vector<GridImage>& images) {
    return message_of(ErrorKind::kOutput,
                      [&] { write_images(make_info(), images, folder / "a.nxs", false); });
  };
  EXPECT_THAT(fault({}), HasSubstr("no images"));
  EXPECT_THAT(fault({make_image("a/b", 2, 2)}), HasSubstr("letters, digits and underscores"));
  EXPECT_THAT(fault({make_image("a", 2, 2), make_image("a", 2, 2)}), HasSubstr("two things are called 'a'"));
  EXPECT_THAT(fault({make_image("process", 2, 2)}), HasSubstr("two things are called 'process'"));
  EXPECT_THAT(fault({make_image("a", 0, 2)}), HasSubstr("it has no rows"));
  GridImage image = make_image("a", 2, 3);
  image.values.pop_back();
  EXPECT_THAT(fault({image}), HasSubstr("5 values in 2 x 3 cells"));
  image = make_image("a", 2, 3);
  std::swap(image.columns.positions[0], image.columns.positions[1]);
  EXPECT_THAT(fault({image}), HasSubstr("columns do not ascend"));
  image.columns.positions[1] = std::nan("");
  EXPECT_THAT(fault({image}), HasSubstr("not a number"));
  EXPECT_TRUE(names_in(folder).empty());
}

TEST(ImageFile, DamageIsNamed) {
  const Folder folder;
  const auto path = folder / "a.nxs";
  const auto fault_after = [&](const std::function<void(hid_t file)>& damage) {
    write_images(make_info(), {make_image("map", 4, 3), make_image("b", 2, 2)}, path,
                 std::filesystem::exists(path));
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    damage(file);
    H5Fclose(file);
    const std::string message = message_of(ErrorKind::kInput, [&] { read_images(path); });
    std::filesystem::remove(path);
    return message;
  };
  const auto remove = [](const char* name) {
    return [name](hid_t file) { H5Ldelete(file, name, H5P_DEFAULT); };
  };
  EXPECT_THAT(fault_after(remove("/entry/map")), HasSubstr("image 'map' is not there"));
  EXPECT_THAT(fault_after(remove("/entry/map/data")), HasSubstr("map/data does not have the shape"));
  EXPECT_THAT(fault_after(remove("/entry/b/x")), HasSubstr("b/x is not there"));
  EXPECT_THAT(fault_after(remove("/entry/process")), HasSubstr("is not a file of images"));
  EXPECT_THAT(fault_after([](hid_t file) {
                H5Ldelete(file, "/entry/map/data", H5P_DEFAULT);
                H5Lmove(file, "/entry/b/data", file, "/entry/map/data", H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("map/data does not have the shape"));
  EXPECT_THAT(fault_after([](hid_t file) {
                const hid_t rows = H5Dopen2(file, "/entry/map/y", H5P_DEFAULT);
                const double descending[] = {4, 3, 2, 1};
                H5Dwrite(rows, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, descending);
                H5Dclose(rows);
              }),
              HasSubstr("image 'map': the positions of its rows do not ascend"));
}

// Texts of variable length lie in heaps on which HDF5 crashes if they are damaged; numbers of other types
// would be converted.
TEST(ImageFile, WhatIsNotStoredAsItIsWrittenIsRefused) {
  const Folder folder;
  const auto fault_with = [&](const std::function<void(hid_t file)>& change) {
    std::filesystem::remove(folder / "a.nxs");
    write_images(make_info(), {make_image("map", 2, 3)}, folder / "a.nxs", false);
    {
      const Hdf5Handle file(H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
      change(file.get());
    }
    return message_of(ErrorKind::kInput, [&] { read_images(folder / "a.nxs"); });
  };
  const auto variable_text = [](const char* group, const char* name) {
    return [group, name](hid_t file) {
      const Hdf5Handle parent(H5Gopen2(file, group, H5P_DEFAULT), H5Gclose);
      if (H5Lexists(parent.get(), name, H5P_DEFAULT) > 0) H5Ldelete(parent.get(), name, H5P_DEFAULT);
      write_text(parent.get(), name, std::string_view("text"));
    };
  };
  const auto variable_attribute = [](const char* path, const char* name) {
    return [path, name](hid_t file) {
      const Hdf5Handle object(H5Oopen(file, path, H5P_DEFAULT), H5Oclose);
      H5Adelete(object.get(), name);
      write_attribute(object.get(), name, std::string_view("text"));
    };
  };
  const auto refused = [](const std::string& what) {
    return ::testing::AllOf(HasSubstr("is damaged, or was not written by annulus"), HasSubstr(what),
                            HasSubstr("fixed length"));
  };
  for (const auto& [group, name] : {std::pair{"/entry", "title"},
                                    {"/entry/map", "title"},
                                    {"/entry/process", "program"},
                                    {"/entry/process", "kind"},
                                    {"/entry/process/input", "input"},
                                    {"/entry/process/input", "z_last"},
                                    {"/entry/process/input", "new"}})
    EXPECT_THAT(fault_with(variable_text(group, name)), refused(std::string(group) + "/" + name));
  for (const auto& [path, name] :
       {std::pair{"/entry/map/y", "units"}, {"/entry/map/x", "long_name"}, {"/entry/map/data", "units"}})
    EXPECT_THAT(fault_with(variable_attribute(path, name)), refused(path));
  EXPECT_THAT(fault_with(variable_attribute("/entry", "images")), refused("which images it has"));
  for (const char* field : {"data", "y", "x"}) {
    EXPECT_THAT(fault_with([&](hid_t file) {
                  const Hdf5Handle group(H5Gopen2(file, "/entry/map", H5P_DEFAULT), H5Gclose);
                  H5Ldelete(group.get(), field, H5P_DEFAULT);
                  write_array(group.get(), field, std::vector<std::int64_t>(6), *field == 'd' ? 2 : 0);
                }),
                HasSubstr("does not hold numbers of 64 bits"));
  }
}

TEST(ImageFile, TextsHaveTheLengthTheyNeed) {
  const Folder folder;
  ImageFileInfo info = make_info();
  info.title = std::string(100000, 'x') + "\u00e4";
  info.facts = {{"empty", ""}, {"zero", std::string("a\0b", 3)}};
  std::vector<GridImage> images{make_image("a", 1, 1), make_image("a_much_longer_name", 1, 1)};
  images.front().title.clear();
  write_images(info, images, folder / "a.nxs", false);
  const StoredImages stored = read_images(folder / "a.nxs");
  EXPECT_EQ(stored.info.title, info.title);
  EXPECT_EQ(std::get<std::string>(stored.info.facts.at(0).second), "");
  EXPECT_EQ(std::get<std::string>(stored.info.facts.at(1).second),
            "a\ufffd"
            "b");
  for (std::size_t i = 0; i < 2; ++i) expect_same(stored.images[i], images[i]);
  std::vector<GridImage> many(500, make_image("image_", 1, 1));
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].name += std::to_string(i);
    many[i].name.resize(120, 'x');
  }
  write_images(make_info(), many, folder / "many.nxs", false);
  EXPECT_EQ(read_images(folder / "many.nxs").images.back().name, many.back().name);
  many.front().name += "x";
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_images(make_info(), many, folder / "b.nxs", false); }),
      HasSubstr("500 images with names of up to 121 letters"));
}

TEST(ImageFile, ATruncatedOrForeignFileIsAnError) {
  const Folder folder;
  write_images(make_info(), {make_image("map", 40, 30)}, folder / "a.nxs", false);
  const std::string whole = samples::read_file(folder / "a.nxs");
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() - 1}) {
    std::ofstream(folder / "cut.nxs", std::ios::binary) << whole.substr(0, size);
    EXPECT_THROW(read_images(folder / "cut.nxs"), Error) << size;
  }
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { read_images(folder / "none.nxs"); }),
              HasSubstr("does not exist"));
}

TEST(ImageFile, IsOpenedInAnotherProcessFirst) {
  const Folder folder;
  write_images(make_info(), {make_image("map", 2, 2)}, folder / "a.nxs", false);
  set_probe_command({(folder / "no such program").string()});
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { read_images(folder / "a.nxs"); }),
              HasSubstr("cannot be started"));
  EXPECT_THAT(
      message_of(ErrorKind::kOutput,
                 [&] { write_images(make_info(), {make_image("map", 2, 2)}, folder / "a.nxs", true); }),
      HasSubstr("so it is not touched"));
  set_probe_command({});
  EXPECT_NO_THROW(touch_output(folder / "a.nxs"));
}

// The server of probes is this program again, as a test that is only run by name.
TEST(ImageFileProbes, DISABLED_Serve) {
  EXPECT_EQ(serve_probes([](const ProbeRequest& request) { touch_output(request.at(1)); }), 0);
}

// What a bad disk leaves: an error, or what are images still. Some of these files keep HDF5 busy for ever, in
// the process that opens them first.
TEST(ImageFile, ZeroedPartsAreReadOrRefused) {
  const Folder folder(Folder::memory());
  write_images(make_info(), {make_image("map", 4, 3)}, folder / "a.nxs", false);
  const std::string whole = samples::read_file(folder / "a.nxs");
  set_probe_command(
      {"/proc/self/exe", "--gtest_filter=ImageFileProbes.DISABLED_Serve", "--gtest_also_run_disabled_tests"});
  constexpr std::size_t kPart = 512;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += kPart) {
    std::string changed = whole;
    for (std::size_t i = at; i < std::min(at + kPart, whole.size()); ++i) changed[i] = 0;
    const auto path = folder / ("b" + std::to_string(at) + ".nxs");
    std::ofstream(path, std::ios::binary) << changed;
    try {
      for (const GridImage& image : read_images(path).images) EXPECT_EQ(fault_of(image), "");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput) << at;
      ++refused;
    }
  }
  set_probe_command({});
  EXPECT_GT(refused, 5u);
}

// The least damage there is: one byte. Of a file that survives the process that opens it first, this process
// must not die; nor may any take long. tests/fuzz does the same to the whole program, at length.
TEST(ImageFile, AFileWithAnotherByteIsReadOrRefused) {
  constexpr unsigned kFiles = 150, kSecondsPerFile = 2 * kProbeProcessorSeconds + 6;
  const Folder folder(Folder::memory());
  write_images(make_info(), {make_image("map", 2, 2)}, folder / "a.nxs", false);
  const std::string whole = samples::read_file(folder / "a.nxs");
  set_probe_command(
      {"/proc/self/exe", "--gtest_filter=ImageFileProbes.DISABLED_Serve", "--gtest_also_run_disabled_tests"});
  std::mt19937 random(1);
  unsigned refused = 0, read = 0;
  for (unsigned i = 0; i < kFiles; ++i) {
    std::string changed = whole;
    const std::size_t at = random() % whole.size();
    changed[at] = static_cast<char>(changed[at] ^ (1 + random() % 255));
    const auto path = folder / ("b" + std::to_string(i) + ".nxs");
    std::ofstream(path, std::ios::binary) << changed;
    ::alarm(kSecondsPerFile);  // a hang ends the test
    try {
      for (const GridImage& image : read_images(path).images) EXPECT_EQ(fault_of(image), "");
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput) << at;
      ++refused;
    }
    ::alarm(0);
    std::filesystem::remove(path);
  }
  set_probe_command({});
  EXPECT_GT(refused, kFiles / 20);
  EXPECT_GT(read, kFiles / 20);
}

}  // namespace
}  // namespace annulus
