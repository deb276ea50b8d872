// NumPy's .npy and .npz files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/formats/zip.h"
#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

/// An element as stored. `kind` is NumPy's: 'b', 'i', 'u' or 'f'.
struct NpyElement {
  char kind = 0;
  size_t bytes = 0;
  bool is_big_endian = false;
};

/// What a .npy header says. `is_fortran`: stored column-major.
struct NpyHeader {
  TensorType type;         // as delivered: f16 as f32, i1 and i2 as s32, u8 as s64
  std::string descriptor;  // as stored: "<f8", ">i4", "|b1"
  NpyElement element;      // the same, taken apart
  bool is_fortran = false;
  size_t data_offset = 0;
};

/// Versions 1-3. Throws DataLoss naming `where` and the rule, Unsupported for object arrays (they
/// are pickles and are never run) and for types without a place here (complex, strings).
NpyHeader parse_npy_header(std::string_view bytes, std::string_view where);

/// An array in the bytes of a .npy file, converted where it is read: for files that are mapped.
class NpyView {
 public:
  /// `bytes`, the whole file, must outlive the view; only the header is looked at. Throws as
  /// `parse_npy_header`, and DataLoss when the data is not exactly as long as the header says.
  NpyView(std::string_view bytes, std::string where);

  const NpyHeader& header() const { return header_; }
  /// Where elements [first, ...) begin in the file, and how many bytes `count` of them take.
  size_t offset(int64_t first) const { return header_.data_offset + stored_bytes(first); }
  size_t stored_bytes(int64_t count) const {
    return static_cast<size_t>(count) * header_.element.bytes;
  }
  /// Writes elements [first, first + count), counted in the order they are stored in, to `to` as
  /// header().type.dtype, native-endian. Throws Unsupported for a u8 element of 2^63 or more.
  void read(int64_t first, int64_t count, std::byte* to) const;

 private:
  std::string_view bytes_;
  std::string where_;
  NpyHeader header_;
};

/// The array, row-major and native-endian. Throws as NpyView, before any memory is taken.
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
