#include "lockstep/data/sources.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "lockstep/data/gzip.h"
#include "lockstep/data/idx.h"
#include "lockstep/formats/mapped_file.h"
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

void check_has_input(const std::vector<Column>& columns, const std::string& where) {
  const bool has_input = std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    return column.role == Column::Role::kInput;
  });
  if (!has_input)
    invalid_argument(where, "a key x or x/<input> must be there: {} other keys came",
                     columns.size());
}

/// Columns of the .npy files in `folder` and its folders x, y and sample_weight; inputs first.
std::vector<Column> npy_columns(const std::filesystem::path& folder) {
  std::vector<Column> columns;
  const auto list = [&](const std::filesystem::path& path, const std::string& prefix) {
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == ".npy")
        columns.push_back(column_of_key(prefix + entry.path().stem().string(), folder.string()));
  };
  try {
    list(folder, "");
    for (const std::string role : {"x", "y", "sample_weight"})
      if (std::filesystem::is_directory(folder / role)) list(folder / role, role + "/");
  } catch (const std::filesystem::filesystem_error& error) {
    fail(ErrorCode::kNotFound, folder.string(), "cannot be listed: {}", error.code().message());
  }
  std::sort(columns.begin(), columns.end(), [](const Column& a, const Column& b) {
    return std::tie(a.role, a.name) < std::tie(b.role, b.name);
  });
  return columns;
}

/// An array in a mapped .npy file.
class MappedArray {
 public:
  explicit MappedArray(const std::filesystem::path& path)
      : file_(path), view_(file_.bytes(), path.string()) {
    if (view_.header().is_fortran)
      unsupported(path.string(),
                  "a mapped array must be in C order, row after row: it is in Fortran order. Save "
                  "numpy.ascontiguousarray(array)");
  }
  const TensorType& type() const { return view_.header().type; }
  /// Elements [first, first + count), as type().dtype.
  void read(int64_t first, int64_t count, std::byte* to) const {
    file_.will_read(view_.offset(first), view_.stored_bytes(count));
    view_.read(first, count, to);
  }

 private:
  MappedFile file_;
  NpyView view_;
};

class MappedDataset : public Dataset {
 public:
  explicit MappedDataset(const std::filesystem::path& folder) : columns_(npy_columns(folder)) {
    check_has_input(columns_, folder.string());
    std::vector<TensorType> types;
    for (const Column& column : columns_) {
      arrays_.push_back(std::make_unique<MappedArray>(folder / (column_key(column) + ".npy")));
      types.push_back(arrays_.back()->type());
    }
    size_ = with_context(folder.string(), [&] { return set_rows(columns_, types); });
  }
  int64_t size() const override { return size_; }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t column, void* to) const override {
    const int64_t elements = columns_[column].row.size();
    arrays_[column]->read(index * elements, elements, static_cast<std::byte*>(to));
  }

 private:
  std::vector<Column> columns_;
  std::vector<std::unique_ptr<MappedArray>> arrays_;
  int64_t size_ = 0;
};

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
  std::vector<Column> columns;
  for (const std::string& key : file.names()) {
    columns.push_back(column_of_key(key, path.string()));
    arrays.push_back({columns.back(), file.read(key)});
  }
  check_has_input(columns, path.string());
  return with_context(path.string(),
                      [&] { return std::make_shared<ArrayDataset>(std::move(arrays)); });
}

DatasetPtr open_npy_folder(const std::filesystem::path& folder) {
  return std::make_shared<MappedDataset>(folder);
}

DatasetPtr open_source(const std::string& spec, Part part) {
  if (spec == "fashion-mnist") return open_fashion_mnist(part);
  if (spec.starts_with("idx:")) return open_idx_folder(spec.substr(4), part);
  if (spec.starts_with("npy:")) return open_npy_folder(spec.substr(4));
  if (spec.starts_with("images:"))
    unsupported(spec, "unsupported source: folders of images are not read. Use an .npz file");
  if (spec.ends_with(".npz")) return open_npz(spec);
  invalid_argument("data", "a source must be fashion-mnist, idx:DIR, npy:DIR or FILE.npz: \"{}\"",
                   spec);
}

}  // namespace lockstep
