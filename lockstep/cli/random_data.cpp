#include "lockstep/cli/random_data.h"

#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

HostTensor random_tensor(const TensorType& type, int64_t classes, uint64_t seed) {
  HostTensor tensor(type);
  PhiloxStream stream(philox_key(seed, RandomPurpose::kAugment, "bench"));
  dispatch(type.dtype, [&]<class T>() {
    for (T& value : tensor.data<T>())
      value = static_cast<T>(
          is_float(type.dtype) ? stream.uniform()
                               : static_cast<double>(stream.below(static_cast<uint64_t>(classes))));
  });
  return tensor;
}

}  // namespace

DatasetPtr random_data(const Model& model, int64_t samples) {
  std::vector<ArrayDataset::Array> arrays;
  const Network& network = *model.network();
  const std::vector<std::string> inputs = network.input_names(), outputs = network.output_names();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = network.inputs()[i].spec;
    if (spec.shape.without_rows().size() < 0)
      unsupported("bench", "inputs with free axes: \"{}\" is {}", inputs[i], spec.shape.str());
    arrays.push_back(
        {{Column::Role::kInput, inputs[i], {}, {}},
         random_tensor({spec.dtype, spec.shape.without_rows().with_rows(samples)}, 2, i)});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputCompileConfig& compile = model.compile_config().outputs[i];
    if (!compile.loss) continue;
    const Shape row = network.outputs()[i].spec.shape.without_rows();
    const bool is_sparse = compile.loss->target_dtype() == DType::kS32;
    HostTensor labels = random_tensor({DType::kS32, {samples}}, row.back(), 100 + i);
    if (is_sparse) {
      arrays.push_back({{Column::Role::kTarget, outputs[i], {}, {}}, std::move(labels)});
      continue;
    }
    HostTensor rows(DType::kF32, row.with_rows(samples));
    for (int64_t s = 0; s < samples && row.rank() == 1; ++s)
      rows.data<float>()[static_cast<size_t>(
          s * row.back() + labels.data<int32_t>()[static_cast<size_t>(s)])] = 1.0f;
    arrays.push_back({{Column::Role::kTarget, outputs[i], {}, {}}, std::move(rows)});
  }
  return std::make_shared<ArrayDataset>(std::move(arrays));
}

}  // namespace lockstep
