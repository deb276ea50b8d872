// dropout and its gradient: masks are a pure function of key, row, step and call site.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

int64_t row_size(const TensorType& type) {
  return type.shape.without_rows().size();
}
int64_t mask_words(const TensorType& type) {
  return (row_size(type) + 15) / 16;
}

std::vector<TensorType> dropout_infer(Types types, const Attrs& attrs) {
  const double rate = std::get<DropoutAttrs>(attrs).rate;
  require_float("dropout", types[0]);
  if (types[0].shape.rank() < 1)
    invalid_argument("dropout", "operand must have rows: {}", types[0].str());
  if (types[1] != TensorType{DType::kU32, {2}} || types[2] != TensorType{DType::kU32, {}} ||
      types[3] != TensorType{DType::kU32, {}})
    invalid_argument("dropout",
                     "key, first row and train step must be ui32[2], ui32[], ui32[]: {}, {}, {}",
                     types[1].str(), types[2].str(), types[3].str());
  if (!(rate >= 0 && rate < 1)) invalid_argument("dropout", "rate must be in [0, 1): {}", rate);
  return {types[0], {DType::kU16, {types[0].shape[0], mask_words(types[0])}}};
}

void dropout_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto& a = std::get<DropoutAttrs>(attrs);
  const auto key_words = in[1]->data<uint32_t>();
  const PhiloxKey key{key_words[0], key_words[1]};
  const uint32_t first_row = in[2]->data<uint32_t>()[0], train_step = in[3]->data<uint32_t>()[0];
  const auto threshold = static_cast<uint32_t>(std::lround(65536 * a.rate));
  const int64_t n = row_size(in[0]->type()), words = mask_words(in[0]->type());
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const T scale = static_cast<T>(static_cast<float>(1 / (1 - a.rate)));
    for (int64_t row = 0; row < in[0]->shape()[0]; ++row)
      for (int64_t e = 0; e < n; ++e) {
        const auto c0 = static_cast<uint32_t>(16 * (e / 128) + e % 16);
        const auto random =
            philox4x32({c0, first_row + static_cast<uint32_t>(row), train_step, a.site}, key);
        const auto half = static_cast<size_t>(e / 16 % 8);
        if (((random[half / 2] >> (16 * (half % 2))) & 0xffff) < threshold) continue;
        const auto i = static_cast<size_t>(row * n + e);
        out[0].data<T>()[i] = in[0]->data<T>()[i] * scale;
        out[1].data<uint16_t>()[static_cast<size_t>(row * words + e / 16)] |=
            static_cast<uint16_t>(1u << (e % 16));
      }
  });
}

std::vector<Value> dropout_vjp(const VjpArgs& args) {
  if (!args.cotangents[0].valid()) return no_gradient(4);
  return {args.builder.dropout_gradient(args.cotangents[0], args.results[1],
                                        std::get<DropoutAttrs>(args.attrs)),
          {},
          {},
          {}};
}

std::vector<TensorType> dropout_gradient_infer(Types types, const Attrs&) {
  require_float("dropout_gradient", types[0]);
  if (types[0].shape.rank() < 1 ||
      types[1] != TensorType{DType::kU16, {types[0].shape[0], mask_words(types[0])}})
    invalid_argument("dropout_gradient", "mask must be ui16[rows, ceil(n/16)] of {}: {}",
                     types[0].str(), types[1].str());
  return {types[0]};
}

void dropout_gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const int64_t n = row_size(in[0]->type()), words = mask_words(in[0]->type());
  const auto mask = in[1]->data<uint16_t>();
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const T scale =
        static_cast<T>(static_cast<float>(1 / (1 - std::get<DropoutAttrs>(attrs).rate)));
    for (int64_t i = 0; i < in[0]->size(); ++i) {
      const int64_t row = i / n, e = i % n;
      const bool kept = mask[static_cast<size_t>(row * words + e / 16)] >> (e % 16) & 1;
      out[0].data<T>()[static_cast<size_t>(i)] =
          kept ? in[0]->data<T>()[static_cast<size_t>(i)] * scale : T{0};
    }
  });
}

std::vector<Value> dropout_gradient_vjp(const VjpArgs& args) {
  return {args.builder.dropout_gradient(args.cotangents[0], args.operands[1],
                                        std::get<DropoutAttrs>(args.attrs)),
          {}};
}

OpSample dropout_sample(std::string name, Shape shape, double rate, uint32_t site) {
  return {std::move(name),
          {uniform(shape, -1, 1, 1), HostTensor::of<uint32_t>({2}, {123, 456}),
           HostTensor::scalar<uint32_t>(7), HostTensor::scalar<uint32_t>(1000)},
          DropoutAttrs{rate, site}};
}
std::vector<OpSample> dropout_samples() {
  return {dropout_sample("odd", {3, 7}, 0.5, 1),
          dropout_sample("image", {2, 5, 5, 16}, 0.3, 65536),
          dropout_sample("long", {2, 1003}, 0.25, 2),
          dropout_sample("channels_32", {2, 4, 6, 32}, 0.3, 3),
          dropout_sample("zero_rate", {2, 20}, 0.0, 4),
          dropout_sample("rank1", {5}, 0.5, 5)};
}
std::vector<OpSample> dropout_gradient_samples() {
  std::vector<OpSample> samples;
  for (const Shape& shape : {Shape{3, 7}, Shape{2, 5, 5, 16}, Shape{2, 1003}}) {
    const int64_t words = mask_words({DType::kF32, shape});
    HostTensor mask(DType::kU16, {shape[0], words});
    PhiloxStream stream(philox_key(5, RandomPurpose::kInit, "mask"));
    for (uint16_t& word : mask.data<uint16_t>()) word = static_cast<uint16_t>(stream.next());
    samples.push_back({"of" + std::to_string(shape.size()),
                       {uniform(shape, -1, 1, 1), mask},
                       DropoutAttrs{0.3, 0}});
  }
  return samples;
}

}  // namespace

DEFINE_RULES(Dropout, {.infer = dropout_infer,
                       .vjp = dropout_vjp,
                       .eval = dropout_eval,
                       .samples = dropout_samples})
DEFINE_RULES(DropoutGradient, {.infer = dropout_gradient_infer,
                               .vjp = dropout_gradient_vjp,
                               .eval = dropout_gradient_eval,
                               .samples = dropout_gradient_samples})

}  // namespace lockstep
