// Batch normalisation over all axes but the last: biased variance, of centred values.
#include <numeric>

#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

/// `x` must be [rows, ..., channels] and every one of `vectors` [channels] of its dtype.
void require_channels(const char* op, const TensorType& x, Types vectors) {
  require_float(op, x);
  if (x.shape.rank() < 2 || x.size() == 0)
    invalid_argument(op, "operand must be [rows, ..., channels] and not empty: {}", x.str());
  const TensorType wanted{x.dtype, {x.shape.back()}};
  for (const TensorType& vector : vectors)
    if (vector != wanted)
      invalid_argument(op, "scale, shift and statistics must be {}: {} (operand {})", wanted.str(),
                       vector.str(), x.str());
}

std::vector<TensorType> training_infer(Types types, const Attrs&) {
  require_channels("batch_norm_training", types[0], types.subspan(1));
  return {types[0], types[1], types[1]};
}

template <class T>
void training_values(Inputs in, double epsilon, Outputs out) {
  const auto x = in[0]->data<T>(), gamma = in[1]->data<T>(), beta = in[2]->data<T>();
  const auto y = out[0].data<T>(), mean = out[1].data<T>(), variance = out[2].data<T>();
  const size_t channels = mean.size(), n = x.size() / channels;
  for (size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i];
  for (T& value : mean) value /= static_cast<T>(n);
  for (size_t i = 0; i < x.size(); ++i) {
    const T centred = x[i] - mean[i % channels];
    variance[i % channels] += centred * centred;
  }
  for (T& value : variance) value /= static_cast<T>(n);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    const T inverse = 1 / std::sqrt(variance[c] + static_cast<T>(epsilon));
    y[i] = (x[i] - mean[c]) * inverse * gamma[c] + beta[c];
  }
}

void training_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    training_values<T>(in, std::get<EpsilonAttrs>(attrs).epsilon, out);
  });
}

Dims all_but_last(const Shape& shape) {
  Dims axes(static_cast<size_t>(shape.rank() - 1));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::vector<Value> training_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const double epsilon = std::get<EpsilonAttrs>(args.attrs).epsilon;
  const Value x = args.operands[0], mean = args.results[1], variance = args.results[2];
  std::vector<Value> grads(3);
  if (args.cotangents[0].valid()) {
    const auto g =
        b.batch_norm_gradient(x, args.operands[1], mean, variance, args.cotangents[0], epsilon);
    grads = {g.dx, g.dgamma, g.dbeta};
  }
  const double n = static_cast<double>(x.shape().size() / x.shape().back());
  const auto contribute = [&](Value term) {
    grads[0] = grads[0].valid() ? b.add(grads[0], term) : term;
  };
  if (args.cotangents[1].valid())
    contribute(b.broadcast_to(b.divide(args.cotangents[1], n), x.shape()));
  if (args.cotangents[2].valid())
    contribute(b.multiply(b.subtract(x, mean), b.multiply(args.cotangents[2], 2.0 / n)));
  return grads;
}

std::vector<Value> training_decompose(Builder& b, const Attrs& attrs, std::span<const Value> in) {
  const Dims axes = all_but_last(in[0].shape());
  const Value mean = b.reduce_mean(in[0], axes);
  const Value centred = b.subtract(in[0], mean);
  const Value variance = b.reduce_mean(b.square(centred), axes);
  const Value inverse = b.rsqrt(b.add(variance, std::get<EpsilonAttrs>(attrs).epsilon));
  return {b.add(b.multiply(b.multiply(centred, inverse), in[1]), in[2]), mean, variance};
}

std::vector<TensorType> gradient_infer(Types types, const Attrs&) {
  require_channels("batch_norm_gradient", types[0], types.subspan(1, 3));
  require_same("batch_norm_gradient", types[0], types[4]);
  return {types[0], types[1], types[1]};
}

template <class T>
void gradient_values(Inputs in, double epsilon, Outputs out) {
  const auto x = in[0]->data<T>(), gamma = in[1]->data<T>(), mean = in[2]->data<T>(),
             variance = in[3]->data<T>(), dy = in[4]->data<T>();
  const auto dx = out[0].data<T>(), dgamma = out[1].data<T>(), dbeta = out[2].data<T>();
  const size_t channels = mean.size();
  const T n = static_cast<T>(x.size() / channels);
  std::vector<T> inverse(channels);
  for (size_t c = 0; c < channels; ++c)
    inverse[c] = 1 / std::sqrt(variance[c] + static_cast<T>(epsilon));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    dbeta[c] += dy[i];
    dgamma[c] += dy[i] * (x[i] - mean[c]) * inverse[c];
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    const T normal = (x[i] - mean[c]) * inverse[c];
    dx[i] = gamma[c] * inverse[c] * (dy[i] - dbeta[c] / n - normal * dgamma[c] / n);
  }
}

void gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    gradient_values<T>(in, std::get<EpsilonAttrs>(attrs).epsilon, out);
  });
}

std::vector<Value> gradient_decompose(Builder& b, const Attrs& attrs, std::span<const Value> in) {
  const Dims axes = all_but_last(in[0].shape());
  const double n = static_cast<double>(in[0].shape().size() / in[0].shape().back());
  const Value inverse = b.rsqrt(b.add(in[3], std::get<EpsilonAttrs>(attrs).epsilon));
  const Value normal = b.multiply(b.subtract(in[0], in[2]), inverse);
  const Value dbeta = b.reduce_sum(in[4], axes);
  const Value dgamma = b.reduce_sum(b.multiply(in[4], normal), axes);
  const Value centred = b.subtract(in[4], b.divide(dbeta, n));
  const Value inner = b.subtract(centred, b.multiply(normal, b.divide(dgamma, n)));
  return {b.multiply(b.multiply(in[1], inverse), inner), dgamma, dbeta};
}

const Shape kShapes[] = {{5, 3}, {1, 4, 4, 1}, {2, 5, 5, 16}, {3, 3, 2, 20}, {2, 4, 4, 32}};

std::vector<OpSample> training_samples() {
  std::vector<OpSample> samples;
  for (const Shape& shape : kShapes) {
    const int64_t c = shape.back();
    samples.push_back({"channels_" + std::to_string(c),
                       {uniform(shape, -2, 3, 1), uniform({c}, 0.5, 2, 2), uniform({c}, -1, 1, 3)},
                       EpsilonAttrs{1e-3},
                       1e-5});
  }
  const HostTensor gamma = uniform({3}, 0.5, 2, 2), beta = uniform({3}, -1, 1, 3);
  samples.push_back(
      {"one_row", {uniform({1, 3}, -2, 3, 1), gamma, beta}, EpsilonAttrs{1e-3}, 1e-5});
  samples.push_back({"constant_channel",
                     {floats({4, 3}, {1, 0.5, 7, 2, 0.5, 7, 3, 0.5, 8, 5, 0.5, 9}), gamma, beta},
                     EpsilonAttrs{1e-3},
                     1e-5});
  return samples;
}

std::vector<OpSample> gradient_samples() {
  std::vector<OpSample> samples;
  for (const Shape& shape : kShapes) {
    const int64_t c = shape.back();
    samples.push_back({"channels_" + std::to_string(c),
                       {uniform(shape, -2, 3, 1), uniform({c}, 0.5, 2, 2), uniform({c}, 0, 1, 3),
                        uniform({c}, 0.5, 2, 4), uniform(shape, -1, 1, 5)},
                       EpsilonAttrs{1e-3},
                       1e-5});
  }
  return samples;
}

}  // namespace

DEFINE_RULES(BatchNormTraining, {.infer = training_infer,
                                 .vjp = training_vjp,
                                 .eval = training_eval,
                                 .samples = training_samples,
                                 .decompose = training_decompose})
DEFINE_RULES(BatchNormGradient, {.infer = gradient_infer,
                                 .vjp = nullptr,
                                 .eval = gradient_eval,
                                 .samples = gradient_samples,
                                 .decompose = gradient_decompose})

}  // namespace lockstep
