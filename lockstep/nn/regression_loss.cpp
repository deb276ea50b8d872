// Mean squared and mean absolute error.

#include <tuple>

#include "lockstep/nn/loss_fields.h"

namespace lockstep {
namespace {

/// Mean over the last axis of a function of y_pred - y_true.
class RegressionLoss : public Loss {
 public:
  explicit RegressionLoss(const LossOptions& options) { reduction = options.reduction; }
  Json config() const override { return common_loss_config(*this); }

  Value call(Builder& builder, Value y_true, Value y_pred) const override {
    const Shape given = y_true.shape();
    const Shape predicted = y_pred.shape();
    std::tie(y_true, y_pred) = squeeze_or_expand_to_same_rank(builder, y_true, y_pred);
    check_broadcast(y_true.shape(), y_pred.shape(), given, predicted);
    y_true = builder.convert(y_true, y_pred.dtype());
    const Value values = of_difference(builder, builder.subtract(y_pred, y_true));
    return values.shape().rank() > 1 ? builder.reduce_mean(values, {-1}) : values;
  }

 protected:
  virtual Value of_difference(Builder& builder, Value difference) const = 0;

 private:
  /// Targets may repeat along axes of extent 1, never along rows.
  void check_broadcast(const Shape& y_true, const Shape& y_pred, const Shape& given,
                       const Shape& predicted) const {
    bool fits = y_true.rank() == y_pred.rank() && y_pred.rank() > 0 && y_true[0] == y_pred[0];
    for (int i = 1; fits && i < y_pred.rank(); ++i) fits = y_true[i] == y_pred[i] || y_true[i] == 1;
    if (!fits)
      fail_target_shape(*this, given, predicted, "targets must have the prediction's shape");
  }
};

class MeanSquaredErrorLoss final : public RegressionLoss {
 public:
  using RegressionLoss::RegressionLoss;
  std::string_view class_name() const override { return "MeanSquaredError"; }
  std::string default_name() const override { return "mean_squared_error"; }

 private:
  Value of_difference(Builder& builder, Value x) const override { return builder.square(x); }
};

class MeanAbsoluteErrorLoss final : public RegressionLoss {
 public:
  using RegressionLoss::RegressionLoss;
  std::string_view class_name() const override { return "MeanAbsoluteError"; }
  std::string default_name() const override { return "mean_absolute_error"; }

 private:
  Value of_difference(Builder& builder, Value x) const override { return builder.abs(x); }
};

template <class T>
std::shared_ptr<Loss> make(const LossOptions& options) {
  auto loss = std::make_shared<T>(options);
  loss->name = loss->default_name();
  return loss;
}

}  // namespace

std::shared_ptr<Loss> make_mean_squared_error(const LossOptions& options) {
  return make<MeanSquaredErrorLoss>(options);
}

std::shared_ptr<Loss> make_mean_absolute_error(const LossOptions& options) {
  return make<MeanAbsoluteErrorLoss>(options);
}

LossPtr MeanSquaredError(Reduction reduction) {
  return make_mean_squared_error({.reduction = reduction});
}

LossPtr MeanAbsoluteError(Reduction reduction) {
  return make_mean_absolute_error({.reduction = reduction});
}

}  // namespace lockstep
