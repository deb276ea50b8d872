// Samples by index: what a model is trained, evaluated and asked on.
#pragma once

#include <memory>
#include <optional>
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
  /// Stored values are divided by this when delivered as floats: 255 for images kept as bytes.
  std::optional<float> divisor;
};

/// The column as files and messages spell it: "x", "y/logits", "sample_weight/logits".
std::string column_key(const Column& column);

/// Sets the rows of `columns`, one or more, to those of arrays of these types, [samples, ...] each;
/// returns the number of samples. Throws InvalidArgument naming a column whose array is a scalar,
/// and those whose numbers of samples differ.
int64_t set_rows(std::vector<Column>& columns, const std::vector<TensorType>& arrays);

/// Random access by index. Derive from it for data of your own; `read` is called from a loader's
/// thread, and from several of them when several loaders share the dataset.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// The same for the dataset's whole life.
  virtual const std::vector<Column>& columns() const = 0;
  /// Writes sample `index` of column `column`, in the column's stored dtype, to `to`
  /// (columns()[column].row.size_bytes() bytes). 0 <= index < size(). What it throws reaches the
  /// thread that asks for the batch.
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

/// SHA-256 of columns, size and at most 64 samples spread evenly: tells data sets apart without
/// reading all of them.
std::string sample_digest(const Dataset& dataset);

/// Inputs, targets and sample weights of a model with one input and one output.
DatasetPtr dataset(HostTensor x);
DatasetPtr dataset(HostTensor x, HostTensor y);
DatasetPtr dataset(HostTensor x, HostTensor y, HostTensor sample_weight);

/// Samples [begin, end) of another dataset: validation_split.
DatasetPtr slice(DatasetPtr dataset, int64_t begin, int64_t end);

/// The same with integer targets of one element as one-hot rows, f32[classes]. Reading a label
/// outside [0, classes) throws InvalidArgument.
DatasetPtr one_hot_targets(DatasetPtr dataset, int64_t classes);

}  // namespace lockstep
