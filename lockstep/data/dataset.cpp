#include "lockstep/data/dataset.h"

#include <algorithm>
#include <cstring>

#include "lockstep/formats/files.h"

namespace lockstep {
namespace {

class SliceDataset : public Dataset {
 public:
  SliceDataset(DatasetPtr inner, int64_t begin, int64_t end)
      : inner_(std::move(inner)), begin_(begin), end_(end) {
    if (begin < 0 || begin > end || end > inner_->size())
      invalid_argument("dataset", "a slice must lie in [0, {}): [{}, {})", inner_->size(), begin,
                       end);
  }
  int64_t size() const override { return end_ - begin_; }
  const std::vector<Column>& columns() const override { return inner_->columns(); }
  void read(int64_t index, size_t column, void* to) const override {
    inner_->read(begin_ + index, column, to);
  }

 private:
  DatasetPtr inner_;
  int64_t begin_, end_;
};

bool is_label(const Column& column) {
  return column.role == Column::Role::kTarget && column.row.size() == 1 &&
         !is_float(column.row.dtype);
}

class OneHotDataset : public Dataset {
 public:
  OneHotDataset(DatasetPtr inner, int64_t classes)
      : inner_(std::move(inner)), classes_(classes), columns_(inner_->columns()) {
    if (classes < 1) invalid_argument("dataset", "one-hot rows need classes >= 1: {}", classes);
    for (Column& column : columns_)
      if (is_label(column)) column.row = {DType::kF32, {classes}}, column.divisor.reset();
  }
  int64_t size() const override { return inner_->size(); }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t column, void* to) const override {
    const Column& from = inner_->columns()[column];
    if (!is_label(from)) return inner_->read(index, column, to);
    const int64_t label = read_label(index, column, from.row.dtype);
    if (label < 0 || label >= classes_)
      invalid_argument(column_key(from), "labels must be in [0, {}): {}", classes_, label);
    auto* row = static_cast<float*>(to);
    std::fill_n(row, classes_, 0.0f);
    row[label] = 1.0f;
  }

 private:
  int64_t read_label(int64_t index, size_t column, DType dtype) const {
    return dispatch(dtype, [&]<class T>() {
      T label{};
      inner_->read(index, column, &label);
      return static_cast<int64_t>(label);
    });
  }

  DatasetPtr inner_;
  int64_t classes_;
  std::vector<Column> columns_;
};

ArrayDataset::Array array_of(Column::Role role, HostTensor tensor) {
  return {{role, "", {}, {}}, std::move(tensor)};
}

}  // namespace

std::string column_key(const Column& column) {
  const char* role = column.role == Column::Role::kInput    ? "x"
                     : column.role == Column::Role::kTarget ? "y"
                                                            : "sample_weight";
  return column.name.empty() ? role : fmt::format("{}/{}", role, column.name);
}

int64_t set_rows(std::vector<Column>& columns, const std::vector<TensorType>& arrays) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string key = column_key(columns[i]);
    const Shape& shape = arrays[i].shape;
    if (shape.rank() < 1)
      invalid_argument(key, "arrays must have a first axis of samples: {}", arrays[i].str());
    if (shape[0] != arrays[0].shape[0])
      invalid_argument("dataset", "arrays must have equally many samples: {} has {}, {} has {}",
                       column_key(columns[0]), arrays[0].shape[0], key, shape[0]);
    columns[i].row = {arrays[i].dtype, shape.without_rows()};
  }
  return arrays[0].shape[0];
}

ArrayDataset::ArrayDataset(std::vector<Array> arrays) {
  if (arrays.empty()) invalid_argument("dataset", "at least one array expected: none came");
  std::vector<TensorType> types;
  for (Array& array : arrays) {
    types.push_back(array.tensor.type());
    columns_.push_back(std::move(array.column));
    tensors_.push_back(std::move(array.tensor));
  }
  size_ = set_rows(columns_, types);
}

void ArrayDataset::read(int64_t index, size_t column, void* to) const {
  const size_t bytes = columns_[column].row.size_bytes();
  if (bytes > 0)
    std::memcpy(to, tensors_[column].bytes() + static_cast<size_t>(index) * bytes, bytes);
}

DatasetPtr dataset(HostTensor x) {
  std::vector<ArrayDataset::Array> arrays;
  arrays.push_back(array_of(Column::Role::kInput, std::move(x)));
  return std::make_shared<ArrayDataset>(std::move(arrays));
}

DatasetPtr dataset(HostTensor x, HostTensor y) {
  std::vector<ArrayDataset::Array> arrays;
  arrays.push_back(array_of(Column::Role::kInput, std::move(x)));
  arrays.push_back(array_of(Column::Role::kTarget, std::move(y)));
  return std::make_shared<ArrayDataset>(std::move(arrays));
}

DatasetPtr dataset(HostTensor x, HostTensor y, HostTensor sample_weight) {
  std::vector<ArrayDataset::Array> arrays;
  arrays.push_back(array_of(Column::Role::kInput, std::move(x)));
  arrays.push_back(array_of(Column::Role::kTarget, std::move(y)));
  arrays.push_back(array_of(Column::Role::kSampleWeight, std::move(sample_weight)));
  return std::make_shared<ArrayDataset>(std::move(arrays));
}

DatasetPtr slice(DatasetPtr dataset, int64_t begin, int64_t end) {
  return std::make_shared<SliceDataset>(std::move(dataset), begin, end);
}

DatasetPtr one_hot_targets(DatasetPtr dataset, int64_t classes) {
  return std::make_shared<OneHotDataset>(std::move(dataset), classes);
}

std::string sample_digest(const Dataset& dataset) {
  constexpr int64_t kSamples = 64;
  const int64_t size = dataset.size(), taken = std::min(size, kSamples);
  std::string text = std::to_string(size);
  for (size_t c = 0; c < dataset.columns().size(); ++c) {
    const Column& column = dataset.columns()[c];
    HostTensor sample(column.row);
    std::string bytes;
    for (int64_t i = 0; i < taken; ++i) {
      dataset.read(i * size / taken, c, sample.bytes());
      bytes.append(reinterpret_cast<const char*>(sample.bytes()), sample.size_bytes());
    }
    text += fmt::format(" {} {} {}", column_key(column), column.row.str(), sha256_hex(bytes));
  }
  return sha256_hex(text);
}

}  // namespace lockstep
