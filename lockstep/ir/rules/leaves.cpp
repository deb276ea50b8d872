// parameter, constant, iota: values that come from outside or from nothing.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

std::vector<Value> leaf_vjp(const VjpArgs&) { return {}; }

void parameter_eval(Inputs, const Attrs&, Outputs) {
  check_failed("parameters are bound, not evaluated", __FILE__, __LINE__);
}

void constant_eval(Inputs, const Attrs& attrs, Outputs results) {
  const auto& constant = std::get<ConstantAttrs>(attrs);
  for (int64_t i = 0; i < results[0].size(); ++i)
    copy_element(constant.value, constant.is_splat() ? 0 : i, results[0], i);
}

std::vector<TensorType> iota_infer(Types, const Attrs& attrs) {
  const auto& iota = std::get<IotaAttrs>(attrs);
  require_axis("iota", iota.type, iota.dimension);
  return {iota.type};
}

void iota_eval(Inputs, const Attrs& attrs, Outputs results) {
  const int axis = std::get<IotaAttrs>(attrs).dimension;
  dispatch(results[0].dtype(), [&]<class T>() {
    int64_t i = 0;
    for_each_index(results[0].shape(), [&](const Dims& index) {
      results[0].data<T>()[static_cast<size_t>(i++)] = static_cast<T>(index[static_cast<size_t>(axis)]);
    });
  });
}

std::vector<OpSample> constant_samples() {
  return {{"splat", {}, ConstantAttrs{{DType::kF32, {3, 5}}, HostTensor::scalar(2.5f)}},
          {"integers", {}, ConstantAttrs{{DType::kS32, {3}}, HostTensor::of<int32_t>({3}, {1, -2, 3})}}};
}

std::vector<OpSample> iota_samples() {
  return {{"rows", {}, IotaAttrs{{DType::kF32, {3, 5}}, 0}},
          {"columns", {}, IotaAttrs{{DType::kS32, {3, 20}}, 1}}};
}

}  // namespace

DEFINE_RULES(Parameter, {.infer = [](Types, const Attrs& attrs) -> std::vector<TensorType> {
                           return {std::get<ParameterAttrs>(attrs).type};
                         },
                         .vjp = leaf_vjp,
                         .eval = parameter_eval,
                         .samples = [] { return std::vector<OpSample>{}; }})

DEFINE_RULES(Constant, {.infer = [](Types, const Attrs& attrs) -> std::vector<TensorType> {
                          const auto& constant = std::get<ConstantAttrs>(attrs);
                          if (constant.value.dtype() != constant.type.dtype ||
                              (!constant.is_splat() && constant.value.size() != constant.type.size()))
                            invalid_argument("constant", "value must be of type {} or one element: {}",
                                             constant.type.str(), constant.value.type().str());
                          return {constant.type};
                        },
                        .vjp = leaf_vjp,
                        .eval = constant_eval,
                        .samples = constant_samples})

DEFINE_RULES(Iota, {.infer = iota_infer, .vjp = leaf_vjp, .eval = iota_eval, .samples = iota_samples})

}  // namespace lockstep
