// HDF5 files in memory, over libhdf5: the subset that Keras writes. All calls go through one lock, for
// Debian's libhdf5 is not thread-safe.
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

/// Reading. Paths have no leading slash: "layers/dense/vars/0".
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
  /// Any integer or float type, in the nearest type of ours; attribute dtype="bfloat16" marks u16
  /// data that becomes f32. Throws DataLoss when sizes are implausible for the file, Unsupported for
  /// other types, external storage and virtual datasets.
  HostTensor read(std::string_view path) const;
  /// A text attribute of a group or dataset, if it has it.
  std::optional<std::string> text_attribute(std::string_view path, std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writing. Equal content gives equal bytes: no times, groups by name.
class Hdf5Writer {
 public:
  void add_group(std::string path);
  void add_dataset(std::string path, HostTensor tensor);
  void add_text_attribute(const std::string& path, std::string name, std::string text);
  Bytes finish();

 private:
  std::map<std::string, std::optional<HostTensor>> objects_;  // groups hold none
  std::map<std::string, std::map<std::string, std::string>> attributes_;
};

}  // namespace lockstep
