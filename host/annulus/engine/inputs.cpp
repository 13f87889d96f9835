#include <annulus/core/error.hpp>
#include <annulus/core/read_file.hpp>
#include <annulus/core/url.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/sources/image_names.hpp>
#include <annulus/sources/streams.hpp>

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxListDepth = 8;

// Data files of an Eiger master in the same folder, which leads to them: <prefix>_data_000001.h5. Their
// frames would count twice.
void remove_data_files(std::vector<std::string>& files) {
  constexpr std::string_view kMaster = "_master", kData = "_data_";
  std::set<std::string> prefixes;
  for (const std::string& file : files) {
    const std::string stem = fs::path(file).stem().string();
    if (lower_extension(file) == ".h5" && stem.ends_with(kMaster))
      prefixes.insert(stem.substr(0, stem.size() - kMaster.size()));
  }
  std::erase_if(files, [&](const std::string& file) {
    const std::string stem = fs::path(file).stem().string();
    const auto at = stem.rfind(kData);
    return lower_extension(file) == ".h5" && at != std::string::npos &&
           stem.find_first_not_of("0123456789", at + kData.size()) == std::string::npos &&
           prefixes.contains(stem.substr(0, at));
  });
}

// A file that cannot be asked is no result: whoever reads it says what is wrong with it.
bool is_result(const fs::path& path) {
  try {
    return is_hdf5_name(path) && (is_annulus_output(path) || derived_file(path) != DerivedFile::kNone);
  } catch (const Error&) {
    return false;
  }
}

void expand_directory(const std::string& directory, std::vector<std::string>& urls) {
  std::vector<std::string> files;
  try {
    for (const auto& entry : fs::directory_iterator(directory)) {
      std::error_code ignored;
      if (entry.is_directory(ignored) || !is_image_name(entry.path())) continue;
      // A link to nowhere stays in: reading it says so. Our own results among the frames do not.
      if (is_result(entry.path())) continue;
      files.push_back(entry.path().string());
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::kInput, directory, error.code().message());
  }
  if (files.empty()) {
    throw Error(ErrorKind::kInput, directory, "no image files in this directory",
                "known are .cbf .edf .tif .tiff .npy .h5 .hdf5 .raw, also with .gz or .bz2");
  }
  remove_data_files(files);
  std::sort(files.begin(), files.end(), natural_less);
  urls.insert(urls.end(), files.begin(), files.end());
}

// The part of a pattern that is a folder as it stands, with the signs in its name made harmless.
std::string escape_folder(const std::string& pattern) {
  fs::path folder = fs::path(pattern).parent_path();
  std::error_code ignored;
  while (folder.has_relative_path() && !fs::is_directory(folder, ignored)) folder = folder.parent_path();
  const std::string prefix = folder.string();
  std::string escaped;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped + pattern.substr(prefix.size());
}

bool expand_glob(const std::string& pattern, std::vector<std::string>& urls) {
  glob_t found{};
  const int status = glob(escape_folder(pattern).c_str(), GLOB_TILDE, nullptr, &found);
  std::vector<std::string> files;
  if (status == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::sort(files.begin(), files.end(), natural_less);
  urls.insert(urls.end(), files.begin(), files.end());
  return !files.empty();
}

void expand(const std::string& argument, int depth, std::vector<std::string>& urls);

void expand_list(const std::string& path, int depth, std::vector<std::string>& urls) {
  if (depth >= kMaxListDepth) {
    throw Error(ErrorKind::kInput, path, "lists name each other too deeply", "does the list name itself?");
  }
  std::istringstream list(read_text_file(path, ErrorKind::kInput));
  const std::size_t before = urls.size();
  for (std::string line; std::getline(list, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line[start] == '#') continue;
    expand(line.substr(start), depth + 1, urls);
  }
  if (urls.size() == before) throw Error(ErrorKind::kInput, path, "the list names no files");
}

void expand(const std::string& argument, int depth, std::vector<std::string>& urls) {
  if (argument.starts_with('@')) return expand_list(argument.substr(1), depth, urls);
  const auto [path, dataset] = split_url(argument);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return expand_directory(path, urls);
  // A file's own name comes first, whatever signs are in it.
  if (fs::exists(path, ignored)) {
    urls.push_back(argument);
    return;
  }
  if (path.find_first_of("*?[") != std::string::npos) {
    std::vector<std::string> matches;
    if (expand_glob(path, matches)) {
      for (std::string& match : matches) {
        urls.push_back(dataset ? join_url(match, *dataset) : match);
      }
      return;
    }
    throw Error(ErrorKind::kInput, argument, "no file matches this pattern",
                "check the folder and the extension");
  }
  throw Error(ErrorKind::kInput, argument, "no such file or directory", "check the name");
}

}  // namespace

std::optional<std::string> folder_to_follow(const std::vector<std::string>& arguments) {
  std::optional<std::string> folder;
  bool any_hdf5 = false, any_other = false;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (!fs::is_directory(argument, ignored)) continue;
    folder = argument;
    for (fs::directory_iterator entry(argument, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      if (!is_image_name(entry->path())) continue;
      if (!is_hdf5_name(entry->path())) any_other = true;
      if (is_hdf5_name(entry->path()) && !is_result(entry->path())) any_hdf5 = true;
    }
  }
  if (!folder || (any_hdf5 && !any_other)) return std::nullopt;  // files that grow, one by one
  if (any_hdf5) {
    throw Error(ErrorKind::kUsage, *folder,
                "it holds HDF5 files and other images, which are not followed together",
                "name the HDF5 files themselves, or keep the others in a folder of their own");
  }
  if (arguments.size() > 1) {
    throw Error(ErrorKind::kUsage, *folder, "a folder of images is followed alone",
                "name that folder only, or leave `follow` out");
  }
  return folder;
}

std::vector<std::string> expand_inputs(const std::vector<std::string>& arguments) {
  std::vector<std::string> urls;
  for (const std::string& argument : arguments) expand(argument, 0, urls);
  if (urls.empty())
    throw Error(ErrorKind::kUsage, "`inputs`", "no input files", "name files, a directory or a pattern");
  return urls;
}

FrameProperties properties_of(const ScanInfo& info) {
  return {info.name, info.frames.shape, info.frames.type, info.frames.max_count};
}

FrameProperties probe_frames(const std::vector<std::string>& urls, const OpenOptions& open) {
  FileStreamSettings settings;
  settings.open = open;
  return properties_of(stream_files(urls, std::move(settings))->info({}));
}

}  // namespace annulus
