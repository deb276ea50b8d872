// Samples by index: what a model is trained, evaluated and asked on.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

/// A named part of every sample.
struct Column {
  enum class Role { kInput, kTarget, kSampleWeight };
  Role role = Role::kInput;
  /// Which input or output it belongs to; empty when there is only one.
  std::string name;
  /// dtype as stored and shape of one sample.
  TensorType row;
  /// Stored values are multiplied by this when delivered as floats: 1/255 for images kept as bytes.
  std::optional<float> divisor;
};

/// Random access by index. Derive from it for data of your own; `read` is called from a loader thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<Column>& columns() const = 0;
  /// Writes sample `index` of column `column`, in the column's stored dtype, to `to`
  /// (columns()[column].row.size_bytes() bytes). 0 <= index < size(). Safe to call from several threads.
  virtual void read(int64_t index, size_t column, void* to) const = 0;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// Arrays in memory, [samples, ...] each.
class ArrayDataset : public Dataset {
 public:
  struct Array {
    Column column;  // its row type is taken from the tensor
    HostTensor tensor;
  };
  /// Throws InvalidArgument naming the arrays whose numbers of samples differ.
  explicit ArrayDataset(std::vector<Array> arrays);
  int64_t size() const override { return size_; }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t column, void* to) const override;
  const HostTensor& tensor(size_t column) const { return tensors_[column]; }

 private:
  std::vector<Column> columns_;
  std::vector<HostTensor> tensors_;
  int64_t size_ = 0;
};

/// x alone, or x and y, for models with one input and one output.
DatasetPtr dataset(HostTensor x);
DatasetPtr dataset(HostTensor x, HostTensor y);

/// Samples [begin, end) of another dataset: validation_split.
DatasetPtr slice(DatasetPtr dataset, int64_t begin, int64_t end);

/// The same with integer targets as one-hot float rows. Throws when reading a label outside [0, classes).
DatasetPtr one_hot_targets(DatasetPtr dataset, int64_t classes);

}  // namespace lockstep
