// NumPy's .npy and .npz files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/formats/zip.h"
#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

/// What a .npy header says. `is_fortran`: stored column-major.
struct NpyHeader {
  TensorType type;         // as delivered: f16 as f32, i1 and i2 as s32, u8 as s64
  std::string descriptor;  // as stored: "<f8", ">i4", "|b1"
  bool is_fortran = false;
  size_t data_offset = 0;
};

/// Versions 1-3. Throws DataLoss naming `where` and the rule, Unsupported for object arrays (they
/// are pickles and are never run) and for types without a place here (complex, strings).
NpyHeader parse_npy_header(std::string_view bytes, std::string_view where);

/// The array, row-major and native-endian. Throws DataLoss when the data is not exactly as long as
/// the header says, before any memory is taken; Unsupported for a u8 element of 2^63 or more.
HostTensor parse_npy(std::string_view bytes, std::string_view where);
Bytes write_npy(const HostTensor& tensor);

class NpzFile {
 public:
  NpzFile(Bytes bytes, std::string where)
      : where_(std::move(where)), zip_(std::move(bytes), where_) {}
  /// Array names in the file's order, without ".npy".
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const { return zip_.contains(std::string(name) + ".npy"); }
  HostTensor read(std::string_view name) const;

 private:
  std::string where_;
  ZipReader zip_;
};

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};
Bytes write_npz(const std::vector<NamedTensor>& tensors);

}  // namespace lockstep
