#include "lockstep/train/class_weight.h"

#include <algorithm>
#include <cstring>

#include "lockstep/data/convert.h"

namespace lockstep {
namespace {

class ClassWeightDataset : public Dataset {
 public:
  ClassWeightDataset(DatasetPtr inner, std::map<int64_t, double> weights)
      : inner_(std::move(inner)), weights_(std::move(weights)), columns_(inner_->columns()) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].role == Column::Role::kTarget) {
        if (target_ >= 0)
          unsupported("class_weight", "models of several outputs take sample weights instead");
        target_ = static_cast<int>(c);
      }
      if (columns_[c].role == Column::Role::kSampleWeight) weight_ = static_cast<int>(c);
    }
    if (target_ < 0) invalid_argument("class_weight", "targets are needed: none came");
    for (const int column : {target_, weight_})
      if (column >= 0 &&
          columns_[static_cast<size_t>(column)].row.shape.rank() > (column == target_ ? 1 : 0) &&
          columns_[static_cast<size_t>(column)].row.size() != 1)
        invalid_argument("class_weight", "each sample must have one class and one weight: {} is {}",
                         column_key(columns_[static_cast<size_t>(column)]),
                         columns_[static_cast<size_t>(column)].row.str());
    if (weight_ >= 0) columns_[static_cast<size_t>(weight_)].row.dtype = DType::kF32;
    if (weight_ < 0)
      columns_.push_back({Column::Role::kSampleWeight,
                          columns_[static_cast<size_t>(target_)].name,
                          {DType::kF32, {}},
                          {}});
  }
  int64_t size() const override { return inner_->size(); }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t column, void* to) const override {
    const size_t weight_column = weight_ < 0 ? columns_.size() - 1 : static_cast<size_t>(weight_);
    if (column != weight_column) return inner_->read(index, column, to);
    float weight = 1;
    if (weight_ >= 0) {
      const Column& from = inner_->columns()[column];
      HostTensor stored(from.row);
      inner_->read(index, column, stored.bytes());
      convert_row(from, stored.bytes(), DType::kF32, &weight);
    }
    const auto it = weights_.find(label_of(index));
    const float product = weight * static_cast<float>(it == weights_.end() ? 1.0 : it->second);
    std::memcpy(to, &product, sizeof product);
  }

 private:
  int64_t label_of(int64_t index) const {
    HostTensor target(inner_->columns()[static_cast<size_t>(target_)].row);
    inner_->read(index, static_cast<size_t>(target_), target.bytes());
    const HostTensor values = target.as(DType::kF64);
    if (values.size() == 1) return static_cast<int64_t>(values.data<double>()[0]);
    return std::max_element(values.data<double>().begin(), values.data<double>().end()) -
           values.data<double>().begin();
  }
  DatasetPtr inner_;
  std::map<int64_t, double> weights_;
  std::vector<Column> columns_;
  int target_ = -1, weight_ = -1;
};

}  // namespace

DatasetPtr with_class_weight(DatasetPtr data, const std::map<int64_t, double>& weights) {
  return weights.empty() ? data : std::make_shared<ClassWeightDataset>(std::move(data), weights);
}

}  // namespace lockstep
