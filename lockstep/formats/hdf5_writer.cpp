#include <algorithm>
#include <span>

#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/hdf5_handle.h"

namespace lockstep {
namespace {

constexpr std::string_view kWhere = "hdf5";
// An object's header ends at 64 KiB; Keras's HDF5_OBJECT_HEADER_LIMIT leaves room for the rest.
constexpr size_t kAttributeLimit = 64512;

void require(bool is_done, std::string_view what, std::string_view path) {
  if (!is_done) fail(ErrorCode::kInternal, kWhere, "{} \"{}\" cannot be written", what, path);
}

Handle file_type(DType dtype) {
  const auto copy = [](hid_t type) { return Handle(H5Tcopy(type), H5Tclose); };
  switch (dtype) {
    case DType::kF32:
      return copy(H5T_IEEE_F32LE);
    case DType::kF64:
      return copy(H5T_IEEE_F64LE);
    case DType::kS32:
      return copy(H5T_STD_I32LE);
    case DType::kS64:
      return copy(H5T_STD_I64LE);
    case DType::kU8:
      return copy(H5T_STD_U8LE);
    case DType::kU16:
      return copy(H5T_STD_U16LE);
    case DType::kU32:
      return copy(H5T_STD_U32LE);
    case DType::kBool:
      return hdf5_bool_type();
  }
  check_failed("a known dtype", __FILE__, __LINE__);
}

/// A property list whose objects carry no times.
Handle timeless(hid_t kind) {
  Handle plist(H5Pcreate(kind), H5Pclose);
  H5Pset_obj_track_times(plist, false);
  return plist;
}

void write_group(hid_t file, const std::string& path, hid_t links) {
  if (H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0) return;
  const Handle plist = timeless(H5P_GROUP_CREATE);
  const Handle group(H5Gcreate2(file, path.c_str(), links, plist, H5P_DEFAULT), H5Gclose);
  require(group.is_valid(), "group", path);
}

void write_dataset(hid_t file, const std::string& path, const HostTensor& tensor, hid_t links) {
  const std::vector<hsize_t> extents(tensor.shape().begin(), tensor.shape().end());
  const Handle space(
      extents.empty() ? H5Screate(H5S_SCALAR)
                      : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
      H5Sclose);
  const Handle plist = timeless(H5P_DATASET_CREATE), type = file_type(tensor.dtype());
  const Handle dataset(H5Dcreate2(file, path.c_str(), type, space, links, plist, H5P_DEFAULT),
                       H5Dclose);
  require(dataset.is_valid(), "dataset", path);
  if (tensor.size() > 0)
    require(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes()) >= 0, "dataset",
            path);
}

void write_attribute(hid_t file, const std::string& path, const std::string& name,
                     const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Handle attribute(H5Acreate_by_name(file, path.c_str(), name.c_str(), type, space,
                                           H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  const char* value = text.c_str();
  require(attribute.is_valid() && H5Awrite(attribute, type, &value) >= 0, "attribute", name);
}

size_t longest(std::span<const std::string> texts) {
  size_t length = 1;
  for (const std::string& text : texts) length = std::max(length, text.size());
  return length;
}

void write_list_attribute(hid_t file, const std::string& path, const std::string& name,
                          const std::vector<std::string>& texts) {
  const size_t length = longest(texts);
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, length);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const hsize_t count = texts.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle attribute(H5Acreate_by_name(file, path.c_str(), name.c_str(), type, space,
                                           H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  require(attribute.is_valid(), "attribute", name);
  if (texts.empty()) return;
  std::string values(count * length, '\0');
  for (size_t i = 0; i < texts.size(); ++i) texts[i].copy(&values[i * length], length);
  require(H5Awrite(attribute, type, values.data()) >= 0, "attribute", name);
}

template <class Value>
using Attributes = std::map<std::string, std::map<std::string, Value>>;  // by object and name

template <class Value>
void write_attributes(hid_t file, const Attributes<Value>& attributes,
                      void (*write)(hid_t, const std::string&, const std::string&, const Value&)) {
  for (const auto& [path, values] : attributes) {
    if (!path.empty() && H5Oexists_by_name(file, path.c_str(), H5P_DEFAULT) <= 0)
      invalid_argument(kWhere, "\"{}\" must be added to carry attributes", path);
    for (const auto& [name, value] : values) write(file, path.empty() ? "/" : path, name, value);
  }
}

/// NumPy's array_split: the fewest parts, nearly equal, each of which fits an object's header.
std::vector<std::span<const std::string>> header_parts(std::span<const std::string> texts) {
  for (size_t parts = 1;; ++parts) {
    std::vector<std::span<const std::string>> result;
    size_t begin = 0;
    bool fits = true;
    for (size_t i = 0; i < parts; ++i) {
      const size_t size = texts.size() / parts + (i < texts.size() % parts ? 1 : 0);
      result.push_back(texts.subspan(begin, size));
      fits = fits && size * longest(result.back()) <= kAttributeLimit;
      begin += size;
    }
    if (fits) return result;
  }
}

Bytes image_of(hid_t file) {
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  require(size >= 0, "image", "");
  Bytes bytes(static_cast<size_t>(size), '\0');
  require(H5Fget_file_image(file, bytes.data(), bytes.size()) == size, "image", "");
  return bytes;
}

}  // namespace

void Hdf5Writer::add_group(std::string path) {
  objects_.try_emplace(std::move(path));
}

void Hdf5Writer::add_dataset(std::string path, HostTensor tensor) {
  const auto [object, is_new] = objects_.try_emplace(std::move(path));
  if (!is_new) invalid_argument(kWhere, "paths must differ: \"{}\" comes twice", object->first);
  object->second = std::move(tensor);
}

void Hdf5Writer::add_text_attribute(const std::string& path, std::string name, std::string text) {
  if (text.find('\0') != std::string::npos)
    invalid_argument(kWhere, "attribute \"{}\" of \"{}\" must hold no zero byte", name, path);
  attributes_[path][std::move(name)] = std::move(text);
}

void Hdf5Writer::add_text_list_attribute(const std::string& path, const std::string& name,
                                         const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    if (text.size() > kAttributeLimit || text.find('\0') != std::string::npos)
      invalid_argument(kWhere,
                       "texts of attribute \"{}\" of \"{}\" must have at most {} bytes, none of "
                       "them zero: one has {}",
                       name, path, kAttributeLimit, text.size());
  const auto parts = header_parts(texts);
  for (size_t i = 0; i < parts.size(); ++i)
    list_attributes_[path][parts.size() == 1 ? name : fmt::format("{}{}", name, i)] = {
        parts[i].begin(), parts[i].end()};
}

void Hdf5Writer::check_parents(const std::string& path) const {
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const auto parent = objects_.find(path.substr(0, end));
    if (parent != objects_.end() && parent->second)
      invalid_argument(kWhere, "\"{}\" must be a group to hold \"{}\": it is a dataset",
                       parent->first, path);
  }
}

Bytes Hdf5Writer::finish() {
  const auto lock = hdf5_lock();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, 1 << 20, 0);
  const Handle file(H5Fcreate(hdf5_image_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access),
                    H5Fclose);
  require(file.is_valid(), "image", "");
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  for (const auto& [path, tensor] : objects_) {
    check_parents(path);
    tensor ? write_dataset(file, path, *tensor, links) : write_group(file, path, links);
  }
  write_attributes(file, attributes_, write_attribute);
  write_attributes(file, list_attributes_, write_list_attribute);
  return image_of(file);
}

}  // namespace lockstep
