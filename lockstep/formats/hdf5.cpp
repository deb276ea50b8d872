#include "lockstep/formats/hdf5.h"

#include <hdf5.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

namespace lockstep {
namespace {

/// The one lock. libhdf5's own state is global, so this is too.
std::unique_lock<std::mutex> hdf5_lock() {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are ours to report
  return lock;
}

/// An HDF5 identifier and the function that closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: stands for the identifier in C calls
  bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

struct MemoryType {
  DType dtype;
  hid_t type;
};

/// The type in which a stored type is delivered.
std::optional<MemoryType> memory_type(hid_t stored) {
  const size_t size = H5Tget_size(stored);
  switch (H5Tget_class(stored)) {
    case H5T_FLOAT:
      if (size <= 4) return MemoryType{DType::kF32, H5T_NATIVE_FLOAT};
      return size == 8 ? std::optional(MemoryType{DType::kF64, H5T_NATIVE_DOUBLE}) : std::nullopt;
    case H5T_INTEGER:
      if (H5Tget_sign(stored) == H5T_SGN_NONE) {
        if (size == 1) return MemoryType{DType::kU8, H5T_NATIVE_UINT8};
        if (size == 2) return MemoryType{DType::kU16, H5T_NATIVE_UINT16};
        return MemoryType{DType::kS64, H5T_NATIVE_INT64};
      }
      return size <= 4 ? MemoryType{DType::kS32, H5T_NATIVE_INT32} : MemoryType{DType::kS64, H5T_NATIVE_INT64};
    case H5T_ENUM: return size == 1 ? std::optional(MemoryType{DType::kBool, H5T_NATIVE_INT8}) : std::nullopt;  // h5py's bool
    default: return std::nullopt;
  }
}

hid_t file_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return H5T_IEEE_F32LE;
    case DType::kF64: return H5T_IEEE_F64LE;
    case DType::kS32: return H5T_STD_I32LE;
    case DType::kS64: return H5T_STD_I64LE;
    case DType::kU16: return H5T_STD_U16LE;
    case DType::kU32: return H5T_STD_U32LE;
    case DType::kU8:
    case DType::kBool: return H5T_STD_U8LE;
  }
  return H5T_STD_U8LE;
}

HostTensor from_bfloat16(const HostTensor& words) {
  HostTensor floats(DType::kF32, words.shape());
  for (size_t i = 0; i < static_cast<size_t>(words.size()); ++i)
    floats.data<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(words.data<uint16_t>()[i]) << 16);
  return floats;
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

struct Hdf5Reader::Impl {
  Bytes bytes;
  std::string where;
  std::optional<Handle> file;

  [[noreturn]] void damaged(std::string_view what) const { fail(ErrorCode::kDataLoss, where, "{}", what); }

  /// Links are followed only inside the file: each part of the path must be a hard link.
  bool exists(std::string_view path, H5O_type_t wanted) const {
    std::string part;
    for (size_t end = 0; end != std::string_view::npos && !path.empty();) {
      end = path.find('/', end == 0 ? 0 : end + 1);
      part = std::string(path.substr(0, end));
      H5L_info_t link;
      if (H5Lexists(*file, part.c_str(), H5P_DEFAULT) <= 0 || H5Lget_info(*file, part.c_str(), &link, H5P_DEFAULT) < 0) return false;
      if (link.type != H5L_TYPE_HARD) unsupported(where, "soft and external links are not followed: \"{}\"", part);
    }
    H5O_info_t info;
    const std::string name = path.empty() ? "/" : std::string(path);
    return H5Oget_info_by_name(*file, name.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == wanted;
  }

  std::optional<std::string> attribute(const std::string& path, const std::string& name) const {
    if (H5Aexists_by_name(*file, path.c_str(), name.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
    const Handle attribute(H5Aopen_by_name(*file, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
    if (!type.is_valid() || H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return std::nullopt;
    if (H5Tis_variable_str(type) > 0) {
      char* text = nullptr;
      if (H5Aread(attribute, type, &text) < 0 || text == nullptr) damaged("attribute \"" + name + "\" cannot be read");
      std::string result = text;
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
      return result;
    }
    std::string text(H5Tget_size(type), '\0');
    if (text.size() > bytes.size()) damaged("attribute \"" + name + "\" is longer than the file");
    if (H5Aread(attribute, type, text.data()) < 0) damaged("attribute \"" + name + "\" cannot be read");
    return text.substr(0, text.find('\0'));
  }

  void check_storage(hid_t dataset, const std::string& path, uint64_t size_bytes) const {
    const Handle plist(H5Dget_create_plist(dataset), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(plist);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(plist) > 0)
      unsupported(where, "external and virtual datasets are not supported: \"{}\"", path);
    const uint64_t limit = layout == H5D_CHUNKED ? bytes.size() * uint64_t{1000} : bytes.size();
    if (size_bytes > limit) damaged(fmt::format("dataset \"{}\" claims {} bytes in a file of {}", path, size_bytes, bytes.size()));
  }

  HostTensor read(const std::string& path) const {
    if (!exists(path, H5O_TYPE_DATASET)) fail(ErrorCode::kNotFound, where, "dataset \"{}\" must be there", path);
    const Handle dataset(H5Dopen2(*file, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.is_valid()) damaged("dataset \"" + path + "\" cannot be opened");
    const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
    const auto memory = memory_type(type);
    if (!memory) unsupported(where, "dataset \"{}\" must hold integers or floats", path);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > 32) damaged("dataset \"" + path + "\" has no simple shape");
    std::vector<hsize_t> extents(static_cast<size_t>(rank));
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    Shape shape;
    uint64_t size_bytes = H5Tget_size(type);
    for (hsize_t extent : extents) {
      if (extent != 0 && size_bytes > (uint64_t{1} << 40) / extent) damaged("dataset \"" + path + "\" is larger than a file can be");
      size_bytes *= extent;
      shape.dims().push_back(static_cast<int64_t>(extent));
    }
    check_storage(dataset, path, size_bytes);
    HostTensor tensor(memory->dtype, shape);
    if (tensor.size() > 0 && H5Dread(dataset, memory->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes()) < 0)
      damaged("dataset \"" + path + "\" cannot be read");
    if (memory->dtype == DType::kU16 && attribute(path, "dtype") == "bfloat16") return from_bfloat16(tensor);
    return tensor;
  }
};

Hdf5Reader::Hdf5Reader(Bytes bytes, std::string where) : impl_(std::make_unique<Impl>()) {
  const auto lock = hdf5_lock();
  impl_->bytes = std::move(bytes);
  impl_->where = std::move(where);
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  if (!std::string_view(impl_->bytes).starts_with(kSignature)) impl_->damaged("must begin with HDF5's signature");
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, 1 << 20, 0);
  H5Pset_file_image(access, impl_->bytes.data(), impl_->bytes.size());
  Handle file(H5Fopen("lockstep-image", H5F_ACC_RDONLY, access), H5Fclose);
  if (!file.is_valid()) impl_->damaged("is not a sound HDF5 file");
  impl_->file.emplace(std::move(file));
}

Hdf5Reader::~Hdf5Reader() {
  const auto lock = hdf5_lock();
  impl_.reset();
}

std::vector<std::string> Hdf5Reader::list(std::string_view group) const {
  const auto lock = hdf5_lock();
  if (!impl_->exists(group, H5O_TYPE_GROUP)) fail(ErrorCode::kNotFound, impl_->where, "group \"{}\" must be there", group);
  std::vector<std::string> names;
  const std::string path = group.empty() ? "/" : std::string(group);
  if (H5Literate_by_name(*impl_->file, path.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names, H5P_DEFAULT) < 0)
    impl_->damaged("group \"" + path + "\" cannot be listed");
  return names;
}

bool Hdf5Reader::has_group(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->exists(path, H5O_TYPE_GROUP);
}
bool Hdf5Reader::has_dataset(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->exists(path, H5O_TYPE_DATASET);
}
HostTensor Hdf5Reader::read(std::string_view path) const {
  const auto lock = hdf5_lock();
  return impl_->read(std::string(path));
}
std::optional<std::string> Hdf5Reader::text_attribute(std::string_view path, std::string_view name) const {
  const auto lock = hdf5_lock();
  return impl_->attribute(path.empty() ? "/" : std::string(path), std::string(name));
}

// -- writing

void Hdf5Writer::add_group(std::string path) { objects_.try_emplace(std::move(path)); }
void Hdf5Writer::add_dataset(std::string path, HostTensor tensor) { objects_[std::move(path)] = std::move(tensor); }
void Hdf5Writer::add_text_attribute(const std::string& path, std::string name, std::string text) {
  attributes_[path][std::move(name)] = std::move(text);
}

namespace {

void write_dataset(hid_t file, const std::string& path, const HostTensor& tensor, hid_t link_plist) {
  std::vector<hsize_t> extents(tensor.shape().begin(), tensor.shape().end());
  const Handle space(extents.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  const Handle plist(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(plist, false);
  const hid_t type = file_type(tensor.dtype());
  const Handle dataset(H5Dcreate2(file, path.c_str(), type, space, link_plist, plist, H5P_DEFAULT), H5Dclose);
  if (!dataset.is_valid() || (tensor.size() > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes()) < 0))
    fail(ErrorCode::kInternal, "hdf5", "dataset \"{}\" cannot be written", path);
}

void write_attribute(hid_t file, const std::string& path, const std::string& name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Handle attribute(H5Acreate_by_name(file, path.c_str(), name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* value = text.c_str();
  if (!attribute.is_valid() || H5Awrite(attribute, type, &value) < 0)
    fail(ErrorCode::kInternal, "hdf5", "attribute \"{}\" of \"{}\" cannot be written", name, path);
}

}  // namespace

Bytes Hdf5Writer::finish() {
  const auto lock = hdf5_lock();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, 1 << 20, 0);
  const Handle file(H5Fcreate("lockstep-image", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  if (!file.is_valid()) fail(ErrorCode::kInternal, "hdf5", "no file can be made in memory");
  for (const auto& [path, tensor] : objects_) {
    if (tensor) {
      write_dataset(file, path, *tensor, links);
    } else if (H5Lexists(file, path.c_str(), H5P_DEFAULT) <= 0) {
      const Handle plist(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
      H5Pset_obj_track_times(plist, false);
      const Handle group(H5Gcreate2(file, path.c_str(), links, plist, H5P_DEFAULT), H5Gclose);
      if (!group.is_valid()) fail(ErrorCode::kInternal, "hdf5", "group \"{}\" cannot be written", path);
    }
  }
  for (const auto& [path, attributes] : attributes_)
    for (const auto& [name, text] : attributes) write_attribute(file, path, name, text);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  if (size < 0) fail(ErrorCode::kInternal, "hdf5", "the file's image cannot be read");
  Bytes bytes(static_cast<size_t>(size), '\0');
  if (H5Fget_file_image(file, bytes.data(), bytes.size()) < 0) fail(ErrorCode::kInternal, "hdf5", "the file's image cannot be read");
  return bytes;
}

}  // namespace lockstep
