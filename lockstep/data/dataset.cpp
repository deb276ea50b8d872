#include "lockstep/data/dataset.h"

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

class SliceDataset : public Dataset {
 public:
  SliceDataset(DatasetPtr inner, int64_t begin, int64_t end) : inner_(std::move(inner)), begin_(begin), end_(end) {
    if (begin < 0 || begin > end || end > inner_->size())
      invalid_argument("dataset", "a slice must lie in [0, {}]: [{}, {}]", inner_->size(), begin, end);
  }
  int64_t size() const override { return end_ - begin_; }
  const std::vector<Column>& columns() const override { return inner_->columns(); }
  void read(int64_t index, size_t column, void* to) const override { inner_->read(begin_ + index, column, to); }

 private:
  DatasetPtr inner_;
  int64_t begin_, end_;
};

class OneHotDataset : public Dataset {
 public:
  OneHotDataset(DatasetPtr inner, int64_t classes) : inner_(std::move(inner)), classes_(classes), columns_(inner_->columns()) {
    for (Column& column : columns_)
      if (is_label(column)) column.row = {DType::kF32, {classes}}, column.divisor.reset();
  }
  int64_t size() const override { return inner_->size(); }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t column, void* to) const override {
    const Column& from = inner_->columns()[column];
    if (!is_label(from)) return inner_->read(index, column, to);
    HostTensor label(from.row);
    inner_->read(index, column, label.bytes());
    const int64_t value = label.as(DType::kS64).data<int64_t>()[0];
    if (value < 0 || value >= classes_)
      invalid_argument("y/" + from.name, "labels must be in [0, {}): {} at sample {}", classes_, value, index);
    auto* row = static_cast<float*>(to);
    std::fill_n(row, classes_, 0.0f);
    row[value] = 1.0f;
  }

 private:
  static bool is_label(const Column& c) { return c.role == Column::Role::kTarget && c.row.size() == 1 && !is_float(c.row.dtype); }
  DatasetPtr inner_;
  int64_t classes_;
  std::vector<Column> columns_;
};

}  // namespace

ArrayDataset::ArrayDataset(std::vector<Array> arrays) {
  if (arrays.empty()) invalid_argument("dataset", "at least one array expected: none came");
  for (Array& array : arrays) {
    if (array.tensor.shape().rank() < 1)
      invalid_argument(array.column.name, "arrays must have a first axis of samples: {}", array.tensor.type().str());
    const int64_t samples = array.tensor.shape()[0];
    if (!columns_.empty() && samples != size_)
      invalid_argument("dataset", "arrays must have equally many samples: \"{}\" has {}, \"{}\" has {}", columns_[0].name, size_,
                       array.column.name, samples);
    size_ = samples;
    array.column.row = {array.tensor.dtype(), array.tensor.shape().without_rows()};
    columns_.push_back(array.column);
    tensors_.push_back(std::move(array.tensor));
  }
}

void ArrayDataset::read(int64_t index, size_t column, void* to) const {
  const size_t bytes = columns_[column].row.size_bytes();
  if (bytes > 0) std::memcpy(to, tensors_[column].bytes() + static_cast<size_t>(index) * bytes, bytes);
}

DatasetPtr dataset(HostTensor x) {
  return std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{{{Column::Role::kInput, "", {}, {}}, std::move(x)}});
}

DatasetPtr dataset(HostTensor x, HostTensor y) {
  return std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{{{Column::Role::kInput, "", {}, {}}, std::move(x)},
                                                                         {{Column::Role::kTarget, "", {}, {}}, std::move(y)}});
}

DatasetPtr slice(DatasetPtr dataset, int64_t begin, int64_t end) {
  return std::make_shared<SliceDataset>(std::move(dataset), begin, end);
}

DatasetPtr one_hot_targets(DatasetPtr dataset, int64_t classes) {
  return std::make_shared<OneHotDataset>(std::move(dataset), classes);
}

}  // namespace lockstep
