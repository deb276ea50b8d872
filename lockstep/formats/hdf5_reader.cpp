#include <algorithm>
#include <bit>

#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/hdf5_handle.h"
#include "lockstep/formats/hdf5_image.h"

namespace lockstep {
namespace {

constexpr uint64_t kMaxRatio = 1000;  // of unpacked to packed bytes
constexpr int kMaxRank = 32;

struct MemoryType {
  DType dtype;
  hid_t type;
};

/// IEEE's layout of 2, 4 or 8 bytes, or bfloat16's.
bool is_plain_float(hid_t type) {
  size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
    return false;
  const size_t bits = 8 * H5Tget_size(type);
  const bool is_known = (bits == 16 && (exponent_bits == 5 || exponent_bits == 8)) ||
                        (bits == 32 && exponent_bits == 8) || (bits == 64 && exponent_bits == 11);
  return is_known && H5Tget_precision(type) == bits && sign == bits - 1 && mantissa == 0 &&
         exponent == mantissa_bits && exponent_bits + mantissa_bits + 1 == bits;
}

std::optional<MemoryType> float_type(hid_t stored) {
  if (!is_plain_float(stored)) return std::nullopt;
  return H5Tget_size(stored) == 8 ? MemoryType{DType::kF64, H5T_NATIVE_DOUBLE}
                                  : MemoryType{DType::kF32, H5T_NATIVE_FLOAT};
}

std::optional<MemoryType> integer_type(hid_t stored) {
  const size_t size = H5Tget_size(stored);
  if (size > 8 || H5Tget_precision(stored) != 8 * size) return std::nullopt;
  if (H5Tget_sign(stored) == H5T_SGN_2)
    return size <= 4 ? MemoryType{DType::kS32, H5T_NATIVE_INT32}
                     : MemoryType{DType::kS64, H5T_NATIVE_INT64};
  if (size == 1) return MemoryType{DType::kU8, H5T_NATIVE_UINT8};
  if (size == 2) return MemoryType{DType::kU16, H5T_NATIVE_UINT16};
  return size <= 4 ? MemoryType{DType::kU32, H5T_NATIVE_UINT32}
                   : MemoryType{DType::kS64, H5T_NATIVE_UINT64};
}

/// The type in which a stored type is delivered. A u8 arrives unsigned, to be checked.
std::optional<MemoryType> memory_type(hid_t stored) {
  switch (H5Tget_class(stored)) {
    case H5T_FLOAT:
      return float_type(stored);
    case H5T_INTEGER:
      return integer_type(stored);
    case H5T_ENUM:
      if (H5Tequal(stored, hdf5_bool_type()) <= 0) return std::nullopt;
      return MemoryType{DType::kBool, H5T_NATIVE_INT8};
    default:
      return std::nullopt;
  }
}

HostTensor from_bfloat16(const HostTensor& words) {
  HostTensor floats(DType::kF32, words.shape());
  std::transform(words.data<uint16_t>().begin(), words.data<uint16_t>().end(),
                 floats.data<float>().begin(),
                 [](uint16_t word) { return std::bit_cast<float>(uint32_t{word} << 16); });
  return floats;
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Conversion of variable-length texts to opaque bytes: where the text lies, as stored. libhdf5's
/// own conversion would follow that place unchecked.
herr_t keep_text_places(hid_t stored, hid_t opaque, H5T_cdata_t* data, size_t, size_t, size_t,
                        void*, void*, hid_t) {
  data->need_bkg = H5T_BKG_NO;
  if (data->command != H5T_CONV_INIT) return 0;
  const bool is_kept =
      H5Tget_size(stored) == Hdf5TextPlace::kBytes && H5Tget_size(opaque) == Hdf5TextPlace::kBytes;
  return is_kept ? 0 : -1;
}

/// The memory type of places of texts; its conversion is made known once a process.
Handle text_place_type() {
  Handle opaque(H5Tcreate(H5T_OPAQUE, Hdf5TextPlace::kBytes), H5Tclose);
  static const bool is_registered = [&] {
    const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text, H5T_VARIABLE);
    return H5Tregister(H5T_PERS_SOFT, "text_place", text, opaque, keep_text_places) >= 0;
  }();
  LOCKSTEP_CHECK(is_registered);
  return opaque;
}

bool is_known_filter(H5Z_filter_t filter) {
  return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
         filter == H5Z_FILTER_FLETCHER32;
}

}  // namespace

struct Hdf5Reader::Impl {
  std::string where;
  uint64_t file_bytes = 0;
  std::optional<Handle> file;

  template <class... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::kDataLoss, where, format, std::forward<Args>(args)...);
  }

  void open(Bytes bytes) {
    file_bytes = bytes.size();
    const std::string flaw = hdf5_superblock_flaw(bytes);
    if (!flaw.empty()) damaged("{}", flaw);
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access, 1 << 20, 0);
    H5Pset_file_image(access, bytes.data(), bytes.size());
    Handle opened(H5Fopen(hdf5_image_name().c_str(), H5F_ACC_RDONLY, access), H5Fclose);
    if (!opened.is_valid()) damaged("must be a sound HDF5 file: libhdf5 cannot open it");
    file.emplace(std::move(opened));
  }

  /// Links are followed only inside the file: each part of the path must be a hard link.
  bool is_linked(const std::string& path) const {
    for (size_t end = 0; end != std::string::npos && !path.empty();) {
      end = path.find('/', end + 1);
      const std::string part = path.substr(0, end);
      H5L_info_t link;
      if (H5Lexists(*file, part.c_str(), H5P_DEFAULT) <= 0 ||
          H5Lget_info(*file, part.c_str(), &link, H5P_DEFAULT) < 0)
        return false;
      if (link.type != H5L_TYPE_HARD)
        unsupported(where, "soft and external links are not followed: \"{}\"", part);
    }
    return true;
  }

  bool has(const std::string& path, H5O_type_t wanted) const {
    H5O_info_t info;
    return is_linked(path) &&
           H5Oget_info_by_name(*file, absolute(path).c_str(), &info, H5P_DEFAULT) >= 0 &&
           info.type == wanted;
  }

  static std::string absolute(const std::string& path) { return "/" + path; }

  /// The texts of an attribute; nothing when it is absent or holds something else.
  std::optional<std::vector<std::string>> texts(const std::string& path,
                                                const std::string& name) const {
    const std::string object = absolute(path);
    if (!is_linked(path) ||
        H5Aexists_by_name(*file, object.c_str(), name.c_str(), H5P_DEFAULT) <= 0)
      return std::nullopt;
    const Handle attribute(
        H5Aopen_by_name(*file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
    if (!type.is_valid() || !space.is_valid())
      damaged("attribute \"{}\" of \"{}\" cannot be read", name, path);
    const auto count =
        static_cast<uint64_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
    if (count == 0) return std::vector<std::string>();  // of any type: h5py stores [] as float64
    if (H5Tget_class(type) != H5T_STRING) return std::nullopt;
    if (count > file_bytes / H5Tget_size(type))
      damaged("attribute \"{}\" of \"{}\" claims {} texts in a file of {} bytes", name, path, count,
              file_bytes);
    auto result = H5Tis_variable_str(type) > 0 ? variable_texts(attribute, count)
                                               : fixed_texts(attribute, type, count);
    if (!result) damaged("attribute \"{}\" of \"{}\" cannot be read", name, path);
    return result;
  }

  /// The file as it lies in libhdf5's memory.
  std::string_view image() const {
    void* begin = nullptr;  // the driver's pointer to its memory
    if (H5Fget_vfd_handle(*file, H5P_DEFAULT, &begin) < 0) damaged("cannot be read");
    return {*static_cast<const char**>(begin), file_bytes};
  }

  std::optional<std::vector<std::string>> variable_texts(hid_t attribute, size_t count) const {
    std::string places(count * Hdf5TextPlace::kBytes, '\0');
    if (H5Aread(attribute, text_place_type(), places.data()) < 0) return std::nullopt;
    std::vector<std::string> result;
    for (size_t at = 0; at < places.size(); at += Hdf5TextPlace::kBytes) {
      auto text = hdf5_text_at(image(), parse_hdf5_text_place(std::string_view(places).substr(
                                            at, Hdf5TextPlace::kBytes)));
      if (!text) return std::nullopt;
      result.push_back(std::move(*text));
    }
    return result;
  }

  static std::optional<std::vector<std::string>> fixed_texts(hid_t attribute, hid_t type,
                                                             size_t count) {
    const size_t size = H5Tget_size(type);
    std::string all(count * size, '\0');
    if (H5Aread(attribute, type, all.data()) < 0) return std::nullopt;
    std::vector<std::string> result;
    for (size_t i = 0; i < count; ++i) {
      const std::string text = all.substr(i * size, size);
      result.push_back(text.substr(0, text.find('\0')));
    }
    return result;
  }

  /// The most bytes the dataset may unpack to, once its storage is one of those we read.
  uint64_t storage_limit(hid_t dataset, const std::string& path) const {
    const Handle plist(H5Dget_create_plist(dataset), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(plist);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(plist) > 0)
      unsupported(where, "external and virtual datasets are not supported: \"{}\"", path);
    if (layout != H5D_CHUNKED) return file_bytes;
    for (int i = 0; i < H5Pget_nfilters(plist); ++i) {
      unsigned flags = 0;
      size_t values = 0;
      const H5Z_filter_t filter = H5Pget_filter2(plist, static_cast<unsigned>(i), &flags, &values,
                                                 nullptr, 0, nullptr, nullptr);
      if (!is_known_filter(filter))
        unsupported(where,
                    "dataset \"{}\" must be packed with gzip, shuffle or fletcher32: filter {}",
                    path, filter);
    }
    const uint64_t limit = file_bytes * kMaxRatio;
    hsize_t chunk[kMaxRank];
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const int rank = H5Pget_chunk(plist, kMaxRank, chunk);
    if (rank < 0 ||
        !fits({chunk, static_cast<size_t>(std::min(rank, kMaxRank))}, H5Tget_size(type), limit))
      damaged("a chunk of dataset \"{}\" is larger than {} bytes allow", path, file_bytes);
    return limit;
  }

  /// Whether an array of these extents, zeros counted as one, has at most `limit` bytes.
  static bool fits(std::span<const hsize_t> extents, uint64_t bytes, uint64_t limit) {
    for (const hsize_t extent : extents) {
      const uint64_t factor = std::max<uint64_t>(extent, 1);
      if (bytes > limit / factor) return false;
      bytes *= factor;
    }
    return bytes <= limit;
  }

  Shape shape_of(hid_t dataset, hid_t type, const std::string& path) const {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    const int rank = H5Sget_simple_extent_ndims(space);
    if ((kind != H5S_SCALAR && kind != H5S_SIMPLE) || rank < 0 || rank > kMaxRank)
      unsupported(where, "dataset \"{}\" must be a scalar or an array", path);
    std::vector<hsize_t> extents(static_cast<size_t>(rank));
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    const Shape shape(Dims(extents.begin(), extents.end()));
    if (!fits(extents, H5Tget_size(type), storage_limit(dataset, path)))
      damaged("dataset \"{}\" claims the shape {} in a file of {} bytes", path, shape.str(),
              file_bytes);
    return shape;
  }

  Handle open_dataset(const std::string& path) const {
    if (!has(path, H5O_TYPE_DATASET))
      fail(ErrorCode::kNotFound, where, "dataset \"{}\" must be there", path);
    return {H5Dopen2(*file, path.c_str(), H5P_DEFAULT), H5Dclose};
  }

  Handle type_of(hid_t dataset, const std::string& path) const {
    Handle type(H5Dget_type(dataset), H5Tclose);
    if (!type.is_valid()) damaged("dataset \"{}\" cannot be opened", path);
    return type;
  }

  Shape shape(const std::string& path) const {
    const Handle dataset = open_dataset(path);
    return shape_of(dataset, type_of(dataset, path), path);
  }

  HostTensor read(const std::string& path) const {
    const Handle dataset = open_dataset(path), type = type_of(dataset, path);
    const auto memory = memory_type(type);
    if (!memory) unsupported(where, "dataset \"{}\" must hold bool, integers or floats", path);
    HostTensor tensor(memory->dtype, shape_of(dataset, type, path));
    if (tensor.size() > 0 &&
        H5Dread(dataset, memory->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes()) < 0)
      damaged("dataset \"{}\" cannot be read", path);
    check_values(tensor, memory->type, path);
    const auto spelling = tensor.dtype() == DType::kU16 ? texts(path, "dtype") : std::nullopt;
    return spelling == std::vector<std::string>{"bfloat16"} ? from_bfloat16(tensor) : tensor;
  }

  /// No element is one its C++ type cannot have.
  void check_values(HostTensor& tensor, hid_t memory, const std::string& path) const {
    if (tensor.dtype() == DType::kBool)
      for (size_t i = 0; i < tensor.size_bytes(); ++i)
        tensor.bytes()[i] = std::byte{tensor.bytes()[i] != std::byte{0}};
    if (memory != H5T_NATIVE_UINT64) return;
    const auto values = tensor.data<int64_t>();
    const auto wrapped =
        std::find_if(values.begin(), values.end(), [](int64_t v) { return v < 0; });
    if (wrapped != values.end())
      unsupported(where, "unsigned integers must be below 2^63: dataset \"{}\" element {}", path,
                  wrapped - values.begin());
  }
};

Hdf5Reader::Hdf5Reader(Bytes bytes, std::string where) : impl_(std::make_unique<Impl>()) {
  const auto lock = hdf5_lock();
  impl_->where = std::move(where);
  impl_->open(std::move(bytes));
}

Hdf5Reader::~Hdf5Reader() {
  const auto lock = hdf5_lock();
  impl_.reset();
}

std::vector<std::string> Hdf5Reader::list(std::string_view group) const {
  const auto lock = hdf5_lock();
  const std::string path(group);
  if (!impl_->has(path, H5O_TYPE_GROUP))
    fail(ErrorCode::kNotFound, impl_->where, "group \"{}\" must be there", path);
  std::vector<std::string> names;
  if (H5Literate_by_name(*impl_->file, Impl::absolute(path).c_str(), H5_INDEX_NAME, H5_ITER_INC,
                         nullptr, collect_name, &names, H5P_DEFAULT) < 0)
    impl_->damaged("group \"{}\" cannot be listed", path);
  return names;
}

bool Hdf5Reader::has_group(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->has(std::string(path), H5O_TYPE_GROUP);
}

bool Hdf5Reader::has_dataset(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->has(std::string(path), H5O_TYPE_DATASET);
}

HostTensor Hdf5Reader::read(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->read(std::string(path));
}

Shape Hdf5Reader::shape(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->shape(std::string(path));
}

std::optional<std::string> Hdf5Reader::text_attribute(std::string_view path,
                                                      std::string_view name) const {
  const auto lock = hdf5_lock();
  const auto texts = impl_->texts(std::string(path), std::string(name));
  return texts && texts->size() == 1 ? std::optional(texts->front()) : std::nullopt;
}

std::optional<std::vector<std::string>> Hdf5Reader::text_list_attribute(
    std::string_view path, std::string_view name) const {
  const auto lock = hdf5_lock();
  const std::string object(path);
  if (auto whole = impl_->texts(object, std::string(name))) return whole;
  std::optional<std::vector<std::string>> result;
  for (int i = 0;; ++i) {
    const auto part = impl_->texts(object, fmt::format("{}{}", name, i));
    if (!part) return result;
    if (!result) result.emplace();
    result->insert(result->end(), part->begin(), part->end());
  }
}

}  // namespace lockstep
