#include "lockstep/nn/layers/input.h"

#include "lockstep/nn/layer_fields.h"
#include "lockstep/nn/registry.h"

namespace lockstep {
namespace {

constexpr std::string_view kClassName = "InputLayer";

Shape read_batch_shape(const Json& json, std::string_view where) {
  if (!json.is_array() || json.empty())
    invalid_argument(where, "`batch_shape` must be a list that begins with the batch: {}",
                     json.dump());
  Dims dims;
  for (const Json& extent : json) {
    if (!extent.is_null() && !extent.is_number_integer())
      invalid_argument(where, "`batch_shape` must be integers and nulls: {}", json.dump());
    dims.push_back(extent.is_null() ? -1 : extent.get<int64_t>());
  }
  return Shape(std::move(dims));
}

DType read_dtype(const Json& json, std::string_view where) {
  const std::string name = json.is_string() ? json.get<std::string>() : json.dump();
  const std::optional<DType> dtype = dtype_from_keras(name);
  if (!dtype) unsupported(where, "unsupported dtype {}", name);
  return *dtype;
}

LayerPtr read_input_layer(const Json& json) {
  std::string name;
  if (json.is_object() && json.contains("name") && json["name"].is_string())
    name = json["name"].get<std::string>();
  const std::string where = layer_label(kClassName, name);
  LayerFieldReader field(json, where);
  field("name", name);
  const Json* shape = field.find("batch_shape");
  if (shape == nullptr) shape = field.find("batch_input_shape");
  if (shape == nullptr) invalid_argument(where, "`batch_shape` must be there: {}", json.dump());
  const Json* dtype = field.find("dtype");
  for (const char* key : {"sparse", "ragged", "optional"}) field.fixed(key, false);
  bool trainable = true;  // Keras 2 writes it for layers that have nothing to train
  field("trainable", trainable);
  field.finish();
  return std::make_shared<InputLayer>(read_batch_shape(*shape, where),
                                      dtype != nullptr ? read_dtype(*dtype, where) : DType::kF32,
                                      name);
}

}  // namespace

InputLayer::InputLayer(Shape batch_shape, DType dtype, std::string name)
    : batch_shape_(std::move(batch_shape)), dtype_(dtype) {
  name_ = std::move(name);
  built_ = true;
  for (int axis = 1; axis < batch_shape_.rank(); ++axis)
    if (batch_shape_[axis] < -1 || batch_shape_[axis] == 0)
      invalid_argument(label(), "extents must be > 0: {}", batch_shape_.without_rows().str());
  if (is_float(dtype) && dtype != DType::kF32)
    unsupported(label(), "unsupported dtype {}: float32 and integers are known", keras_name(dtype));
}

Json InputLayer::config() const {
  Json shape = Json::array();
  for (int64_t extent : batch_shape_) shape.push_back(extent < 0 ? Json() : Json(extent));
  return {{"batch_shape", shape}, {"dtype", keras_name(dtype_)},
          {"sparse", false},      {"ragged", false},
          {"name", name()},       {"optional", false}};
}

std::vector<Value> InputLayer::call(CallContext&, const std::vector<Value>& inputs) {
  return inputs;
}

TensorSpec InputLayer::spec() const {
  TensorSpec spec{batch_shape_, dtype_};
  spec.shape[0] = -1;
  return spec;
}

Tensor InputLayer::tensor() {
  std::shared_ptr<LayerCall> node = node_.lock();
  if (!node) {
    node = std::make_shared<LayerCall>();
    node->layer = shared_from_this();
    node->outputs = {spec()};
    node_ = node;
  }
  return {node, 0, spec()};
}

Tensor Input(Shape shape, InputOptions options) {
  return std::make_shared<InputLayer>(shape.with_rows(-1), options.dtype, std::move(options.name))
      ->tensor();
}

LayerClass InputLayer_layer_class(std::string_view summary) {
  return {kClassName, summary, read_input_layer,
          [] { return InputLayer({-1}, DType::kF32, "").config(); }};
}

}  // namespace lockstep
