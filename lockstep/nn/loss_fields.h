// What the loss classes share: reduction names, target checks, and the registry's constructors.
#pragma once

#include "lockstep/nn/loss.h"

namespace lockstep {

std::string_view reduction_name(Reduction reduction);
/// Throws InvalidArgument for an unknown name, Unsupported for none.
Reduction reduction_from_name(const Json& json, std::string_view where);

/// {"name": ..., "reduction": ...}: how every loss configuration begins.
Json common_loss_config(const Loss& loss);

/// Throws InvalidArgument naming both shapes and the rule.
[[noreturn]] void fail_target_shape(const Loss& loss, const Shape& y_true, const Shape& y_pred,
                                    std::string_view rule);

std::shared_ptr<Loss> make_categorical_crossentropy(const LossOptions& options);
std::shared_ptr<Loss> make_sparse_categorical_crossentropy(const LossOptions& options);
std::shared_ptr<Loss> make_binary_crossentropy(const LossOptions& options);
/// The kind is picked in call(): one column: binary; targets of lower rank or one column: sparse;
/// else categorical.
std::shared_ptr<Loss> make_automatic_crossentropy(const LossOptions& options);
std::shared_ptr<Loss> make_mean_squared_error(const LossOptions& options);
std::shared_ptr<Loss> make_mean_absolute_error(const LossOptions& options);

}  // namespace lockstep
