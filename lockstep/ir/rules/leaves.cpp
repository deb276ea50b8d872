// parameter, constant, iota: values that come from outside or from nothing.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

std::vector<Value> leaf_vjp(const VjpArgs&) {
  return {};
}

std::vector<TensorType> parameter_infer(Types, const Attrs& attrs) {
  const auto& parameter = std::get<ParameterAttrs>(attrs);
  require_known("parameter", parameter.type);
  return {parameter.type};
}

std::vector<OpSample> parameter_samples() {
  return {};
}

void parameter_eval(Inputs, const Attrs&, Outputs) {
  check_failed("parameters are bound, not evaluated", __FILE__, __LINE__);
}

std::vector<TensorType> constant_infer(Types, const Attrs& attrs) {
  const auto& constant = std::get<ConstantAttrs>(attrs);
  require_known("constant", constant.type);
  const bool fits = constant.is_splat() || constant.value.shape() == constant.type.shape;
  if (constant.value.dtype() != constant.type.dtype || !fits)
    invalid_argument("constant", "value must be of type {} or one element: {}", constant.type.str(),
                     constant.value.type().str());
  return {constant.type};
}

void constant_eval(Inputs, const Attrs& attrs, Outputs results) {
  const auto& constant = std::get<ConstantAttrs>(attrs);
  for (int64_t i = 0; i < results[0].size(); ++i)
    copy_element(constant.value, constant.is_splat() ? 0 : i, results[0], i);
}

std::vector<TensorType> iota_infer(Types, const Attrs& attrs) {
  const auto& iota = std::get<IotaAttrs>(attrs);
  require_known("iota", iota.type);
  require_axis("iota", iota.type, iota.dimension);
  return {iota.type};
}

void iota_eval(Inputs, const Attrs& attrs, Outputs results) {
  const int axis = std::get<IotaAttrs>(attrs).dimension;
  dispatch(results[0].dtype(), [&]<class T>() {
    int64_t i = 0;
    for_each_index(results[0].shape(), [&](const Dims& index) {
      results[0].data<T>()[static_cast<size_t>(i++)] =
          static_cast<T>(index[static_cast<size_t>(axis)]);
    });
  });
}

std::vector<OpSample> constant_samples() {
  const HostTensor matrix = uniform({3, 7}, -1, 1, 1);
  return {{"scalar", {}, ConstantAttrs{{DType::kF32, {}}, HostTensor::scalar(-0.5f)}},
          {"splat", {}, ConstantAttrs{{DType::kF32, {5, 1003}}, HostTensor::scalar(2.5f)}},
          {"dense", {}, ConstantAttrs{matrix.type(), matrix}},
          {"integers",
           {},
           ConstantAttrs{{DType::kS32, {3}}, HostTensor::of<int32_t>({3}, {1, -2, 3})}}};
}

std::vector<OpSample> iota_samples() {
  return {{"rows", {}, IotaAttrs{{DType::kF32, {3, 5}}, 0}},
          {"columns", {}, IotaAttrs{{DType::kS32, {3, 20}}, 1}},
          {"long", {}, IotaAttrs{{DType::kF32, {2003}}, 0}},
          {"middle", {}, IotaAttrs{{DType::kS32, {2, 3, 4}}, 1}}};
}

}  // namespace

DEFINE_RULES(Parameter, {.infer = parameter_infer,
                         .vjp = leaf_vjp,
                         .eval = parameter_eval,
                         .samples = parameter_samples})
DEFINE_RULES(Constant, {.infer = constant_infer,
                        .vjp = leaf_vjp,
                        .eval = constant_eval,
                        .samples = constant_samples})
DEFINE_RULES(Iota,
             {.infer = iota_infer, .vjp = leaf_vjp, .eval = iota_eval, .samples = iota_samples})

}  // namespace lockstep
