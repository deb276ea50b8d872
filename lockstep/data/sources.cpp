#include "lockstep/data/sources.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lockstep/data/gzip.h"
#include "lockstep/data/idx.h"
#include "lockstep/formats/npy.h"

namespace lockstep {
namespace {

/// `folder`/`name`, or the same with .gz.
HostTensor read_idx(const std::filesystem::path& folder, const std::string& name) {
  const auto plain = folder / name, packed = folder / (name + ".gz");
  if (std::filesystem::exists(plain)) return parse_idx(read_file(plain), plain.string());
  if (std::filesystem::exists(packed))
    return parse_idx(gunzip(read_file(packed), packed.string()), packed.string());
  fail(ErrorCode::kNotFound, folder.string(), "must hold {} or {}.gz: neither is there", name,
       name);
}

HostTensor with_channel_axis(HostTensor images) {
  if (images.shape().rank() != 3) return images;
  Dims dims = images.shape().dims();
  dims.push_back(1);
  return images.reshaped(Shape(std::move(dims)));
}

Column column_of_key(const std::string& key, const std::string& where) {
  constexpr std::pair<std::string_view, Column::Role> kRoles[] = {
      {"x", Column::Role::kInput},
      {"y", Column::Role::kTarget},
      {"sample_weight", Column::Role::kSampleWeight}};
  for (const auto& [prefix, role] : kRoles) {
    if (key == prefix) return {role, "", {}, {}};
    if (key.starts_with(prefix) && key.size() > prefix.size() + 1 && key[prefix.size()] == '/')
      return {role, key.substr(prefix.size() + 1), {}, {}};
  }
  invalid_argument(where,
                   "keys must be x/<input>, y/<output>, sample_weight/<output>, or x, y, "
                   "sample_weight: \"{}\"",
                   key);
}

}  // namespace

DatasetPtr open_idx_folder(const std::filesystem::path& folder, Part part) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorCode::kNotFound, folder.string(), "must be a folder of IDX files");
  const std::string prefix = part == Part::kTrain ? "train" : "t10k";
  std::vector<ArrayDataset::Array> arrays(2);
  arrays[0].tensor = with_channel_axis(read_idx(folder, prefix + "-images-idx3-ubyte"));
  if (arrays[0].tensor.dtype() == DType::kU8) arrays[0].column.divisor = 255.0f;
  arrays[1].column.role = Column::Role::kTarget;
  arrays[1].tensor = read_idx(folder, prefix + "-labels-idx1-ubyte");
  return with_context(folder.string(),
                      [&] { return std::make_shared<ArrayDataset>(std::move(arrays)); });
}

DatasetPtr open_fashion_mnist(Part part, const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorCode::kNotFound, "fashion-mnist",
         "{} must be there. Install Debian's package dataset-fashion-mnist", folder.string());
  return open_idx_folder(folder, part);
}

DatasetPtr open_npz(const std::filesystem::path& path) {
  const NpzFile file(read_file(path), path.string());
  std::vector<ArrayDataset::Array> arrays;
  for (const std::string& key : file.names()) {
    Column column = column_of_key(key, path.string());
    arrays.push_back({std::move(column), file.read(key)});
  }
  const bool has_input = std::any_of(arrays.begin(), arrays.end(), [](const auto& array) {
    return array.column.role == Column::Role::kInput;
  });
  if (!has_input)
    invalid_argument(path.string(), "a key x or x/<input> must be there: {} other keys came",
                     arrays.size());
  return with_context(path.string(),
                      [&] { return std::make_shared<ArrayDataset>(std::move(arrays)); });
}

DatasetPtr open_source(const std::string& spec, Part part) {
  if (spec == "fashion-mnist") return open_fashion_mnist(part);
  if (spec.starts_with("idx:")) return open_idx_folder(spec.substr(4), part);
  if (spec.starts_with("images:"))
    unsupported(spec, "unsupported source: folders of images are not read. Use an .npz file");
  if (spec.ends_with(".npz")) return open_npz(spec);
  invalid_argument("data", "a source must be fashion-mnist, idx:DIR or FILE.npz: \"{}\"", spec);
}

}  // namespace lockstep
