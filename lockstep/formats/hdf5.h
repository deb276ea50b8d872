// HDF5 files in memory, over libhdf5: the subset that Keras writes. All calls go through one lock,
// for Debian's libhdf5 is not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/formats/files.h"
#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

/// Reading. Soft and external links are refused (Unsupported), so no other file is ever opened.
/// Paths have no leading slash: "layers/dense/vars/0".
///
/// Superblock, sizes, filters and texts are checked here. Headers of groups and datasets are
/// decoded by libhdf5, and 1.10 may read outside its memory when they are made to harm: give files
/// of strangers to a process of their own. For that reason scripts/fuzz.sh tries this reader on its
/// corpus alone: made-up headers crash libhdf5, not us, within a minute.
class Hdf5Reader {
 public:
  /// `where` names the file in messages. Throws DataLoss when the bytes are no HDF5 file.
  Hdf5Reader(Bytes bytes, std::string where);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  /// Names inside a group ("" is the root), sorted. NotFound when there is no such group.
  std::vector<std::string> list(std::string_view group) const;
  bool has_group(std::string_view path) const;
  bool has_dataset(std::string_view path) const;
  /// Any integer or float type, in the nearest type of ours that holds it; h5py's bool; attribute
  /// dtype="bfloat16" marks u16 data that becomes f32. Throws DataLoss when sizes are implausible
  /// for the file, Unsupported for other types, u8 elements of 2^63 or more, external storage,
  /// virtual datasets and filters other than gzip, shuffle and fletcher32.
  HostTensor read(std::string_view path) const;
  /// Of a dataset, without reading it; throws as `read` does for a shape the file cannot hold.
  Shape shape(std::string_view path) const;
  /// A text attribute of a group or dataset ("" is the root), if it has it.
  std::optional<std::string> text_attribute(std::string_view path, std::string_view name) const;
  /// A list of texts, also one that Keras cut into attributes name0, name1, ... for its length.
  std::optional<std::vector<std::string>> text_list_attribute(std::string_view path,
                                                              std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writing. Equal content gives equal bytes: no times, groups by name.
class Hdf5Writer {
 public:
  void add_group(std::string path);
  /// Throws InvalidArgument when the path was added before. Groups on the way need not be added.
  void add_dataset(std::string path, HostTensor tensor);
  /// UTF-8 of any length, without zero bytes. `path` is a group or dataset, "" the root.
  void add_text_attribute(const std::string& path, std::string name, std::string text);
  /// A list of texts of a fixed length, as Keras writes names: a long list is cut into attributes
  /// name0, name1, ... that fit an object's header. Throws InvalidArgument for a text that cannot.
  void add_text_list_attribute(const std::string& path, const std::string& name,
                               const std::vector<std::string>& texts);
  /// Throws InvalidArgument for paths inside a dataset and attributes of what was not added.
  Bytes finish();

 private:
  void check_parents(const std::string& path) const;

  std::map<std::string, std::optional<HostTensor>> objects_;  // groups hold none
  std::map<std::string, std::map<std::string, std::string>> attributes_;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> list_attributes_;
};

}  // namespace lockstep
