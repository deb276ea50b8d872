// dropout with the library's own Philox4x32-10 in integer ops: masks have the same bits on every
// backend (docs/determinism.md, "Random numbers").
#include <cmath>
#include <map>

#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {
namespace {

constexpr DType kWord = DType::kU32;

/// Integer arithmetic on values of one shape.
class Words {
 public:
  Words(Emitter& emitter, Shape shape) : e_(emitter), type_{kWord, std::move(shape)} {}

  const TensorType& type() const { return type_; }
  /// Each constant and iota is written once.
  const std::string& constant(uint32_t value) {
    std::string& name = constants_[value];
    if (name.empty()) name = e_.splat(value, type_);
    return name;
  }
  const std::string& iota(int dimension) {
    std::string& name = iotas_[dimension];
    if (name.empty()) name = e_.let("stablehlo.iota dim = {} : {}", dimension, mlir_type(type_));
    return name;
  }
  std::string binary(std::string_view op, const std::string& a, const std::string& b) {
    return e_.let("stablehlo.{} {}, {} : {}", op, a, b, mlir_type(type_));
  }
  std::string broadcast(const std::string& scalar) {
    return e_.broadcast(scalar, {kWord, {}}, type_.shape, {});
  }

  /// High and low words of the 64-bit product with a constant.
  std::pair<std::string, std::string> multiply_wide(const std::string& a, uint32_t factor) {
    const std::string low = binary("multiply", a, constant(factor));
    const std::string wide = wide_type();
    const std::string widened =
        e_.let("stablehlo.convert {} : ({}) -> {}", a, mlir_type(type_), wide);
    const std::string product =
        e_.let("stablehlo.multiply {}, {} : {}", widened, wide_constant(factor), wide);
    const std::string high =
        e_.let("stablehlo.shift_right_logical {}, {} : {}", product, wide_constant(32), wide);
    return {e_.let("stablehlo.convert {} : ({}) -> {}", high, wide, mlir_type(type_)), low};
  }

  /// Ten rounds of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3").
  std::array<std::string, 4> philox(std::array<std::string, 4> counter, std::string key0,
                                    std::string key1) {
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        key0 = binary("add", key0, constant(0x9E3779B9));
        key1 = binary("add", key1, constant(0xBB67AE85));
      }
      const auto [high0, low0] = multiply_wide(counter[0], 0xD2511F53);
      const auto [high1, low1] = multiply_wide(counter[2], 0xCD9E8D57);
      const std::string mixed0 = binary("xor", high1, counter[1]);
      const std::string mixed1 = binary("xor", high0, counter[3]);
      // Braces: from left to right.
      counter = {binary("xor", mixed0, key0), low1, binary("xor", mixed1, key1), low0};
    }
    return counter;
  }

 private:
  /// No tensor of a graph has 64-bit words: they live between these lines only.
  std::string wide_type() const {
    std::string text = mlir_type(type_);
    return text.replace(text.rfind("ui32"), 4, "ui64");
  }
  const std::string& wide_constant(uint32_t value) {
    std::string& name = wide_constants_[value];
    if (name.empty()) name = e_.let("stablehlo.constant dense<{}> : {}", value, wide_type());
    return name;
  }

  Emitter& e_;
  TensorType type_;
  std::map<uint32_t, std::string> constants_, wide_constants_;
  std::map<int, std::string> iotas_;
};

std::string word_of_key(Emitter& e, const std::string& key, int word) {
  const std::string one =
      e.let("stablehlo.slice {} [{}:{}] : (tensor<2xui32>) -> tensor<1xui32>", key, word, word + 1);
  return e.let("stablehlo.reshape {} : (tensor<1xui32>) -> tensor<ui32>", one);
}

/// kept ? x * scale : 0, all of x's type; `kept` i1.
void define_scaled(Emitter& e, const Node& node, const std::string& kept) {
  const TensorType& x = e.type(node.operands[0]);
  const float scale = static_cast<float>(1 / (1 - node.as<DropoutAttrs>().rate));
  const std::string scaled = e.let("stablehlo.multiply {}, {} : {}", e.name(node.operands[0]),
                                   e.splat(static_cast<double>(scale), x), mlir_type(x));
  const TensorType bits{DType::kBool, x.shape};
  e.set_name(node.results[0], e.let("stablehlo.select {}, {}, {} : {}, {}", kept, scaled,
                                    e.splat(0.0, x), mlir_type(bits), mlir_type(x)));
}

/// i1 of [rows, n rounded up to 16] cut to x's shape.
std::string cut_to(Emitter& e, const std::string& bits, const Shape& padded, const Shape& x) {
  const Shape flat{padded[0], x.without_rows().size()};
  std::string cut = bits;
  if (flat != padded)
    cut = e.let("stablehlo.slice {} [0:{}, 0:{}] : ({}) -> {}", bits, flat[0], flat[1],
                mlir_type({DType::kBool, padded}), mlir_type({DType::kBool, flat}));
  return e.reshape(cut, {DType::kBool, flat}, x);
}

std::string compare(Emitter& e, std::string_view direction, const std::string& a,
                    const std::string& b, const TensorType& type) {
  return e.let("stablehlo.compare {}, {}, {}, UNSIGNED : ({}, {}) -> {}", direction, a, b,
               mlir_type(type), mlir_type(type), mlir_type({DType::kBool, type.shape}));
}

}  // namespace

/// Element e of a row takes half (e div 16) mod 8 of the eight 16-bit halves that counter
/// 16 * (e div 128) + e mod 16 gives: so a block of 128 elements is 8 halves x 16 lanes.
void emit_Dropout(Emitter& e, const Node& node) {
  const auto& a = node.as<DropoutAttrs>();
  const TensorType& x = e.type(node.operands[0]);
  const int64_t rows = x.shape[0], n = x.shape.without_rows().size();
  const int64_t blocks = (n + 127) / 128, words = (n + 15) / 16;

  Words w(e, {rows, blocks, 16});
  // A line of its own for whatever adds lines: compilers differ in which argument they take first.
  const std::string block_of = w.iota(1), lane_of = w.iota(2), row_of = w.iota(0);
  const std::string first = w.binary("multiply", block_of, w.constant(16));
  const std::string lane = w.binary("add", first, lane_of);
  const std::string first_row = w.broadcast(e.name(node.operands[2]));
  const std::string row = w.binary("add", row_of, first_row);
  const std::string step = w.broadcast(e.name(node.operands[3])), site = w.constant(a.site);
  const std::string& key = e.name(node.operands[1]);
  const std::string key0 = w.broadcast(word_of_key(e, key, 0));
  const std::string key1 = w.broadcast(word_of_key(e, key, 1));
  const auto random = w.philox({lane, row, step, site}, key0, key1);

  const std::string threshold = w.constant(static_cast<uint32_t>(std::lround(65536 * a.rate)));
  const TensorType half{DType::kBool, {rows, blocks, 1, 16}};
  std::vector<std::string> halves;
  for (const std::string& word : random)
    for (int part = 0; part < 2; ++part) {
      const std::string bits = part == 0 ? w.binary("and", word, w.constant(0xffff))
                                         : w.binary("shift_right_logical", word, w.constant(16));
      halves.push_back(e.reshape(compare(e, "GE", bits, threshold, w.type()),
                                 {DType::kBool, w.type().shape}, half.shape));
    }
  const TensorType block{DType::kBool, {rows, blocks, 8, 16}};
  const std::vector<std::string> types(8, mlir_type(half));
  const std::string kept = e.let("stablehlo.concatenate {}, dim = 2 : ({}) -> {}",
                                 fmt::join(halves, ", "), fmt::join(types, ", "), mlir_type(block));
  const Shape flat{rows, blocks * 128};
  define_scaled(e, node, cut_to(e, e.reshape(kept, block, flat), flat, x.shape));

  // The mask: 16 lanes a word, lane i its bit i; bits beyond the row are 0.
  const Shape row_bits{rows, n}, padded{rows, words * 16};
  std::string bits = cut_to(e, e.reshape(kept, block, flat), flat, row_bits);
  if (padded != row_bits) {
    const std::string off = e.splat(0, {DType::kBool, {}});
    bits = e.let(
        "stablehlo.pad {}, {}, low = [0, 0], high = [0, {}], interior = [0, 0] : ({}, "
        "tensor<i1>) -> {}",
        bits, off, words * 16 - n, mlir_type({DType::kBool, row_bits}),
        mlir_type({DType::kBool, padded}));
  }
  Words lanes(e, {rows, words, 16});
  const std::string ones = e.convert(e.reshape(bits, {DType::kBool, padded}, lanes.type().shape),
                                     {DType::kBool, lanes.type().shape}, kWord);
  const std::string shifted = lanes.binary("shift_left", ones, lanes.iota(2));
  const TensorType packed{kWord, {rows, words}};
  const std::string sum = e.let(
      "stablehlo.reduce({} init: {}) applies stablehlo.or across dimensions = [2] : ({}, "
      "tensor<ui32>) -> {}",
      shifted, e.splat(0, {kWord, {}}), mlir_type(lanes.type()), mlir_type(packed));
  e.set_name(node.results[1], e.convert(sum, packed, DType::kU16));
}

void emit_DropoutGradient(Emitter& e, const Node& node) {
  const TensorType &x = e.type(node.operands[0]), &mask = e.type(node.operands[1]);
  const int64_t rows = mask.shape[0], words = mask.shape[1];
  Words lanes(e, {rows, words, 16});
  const std::string wide = e.convert(e.name(node.operands[1]), mask, kWord);
  const std::string repeated = e.broadcast(wide, {kWord, mask.shape}, lanes.type().shape, {0, 1});
  const std::string shifted = lanes.binary("shift_right_logical", repeated, lanes.iota(2));
  const std::string bit = lanes.binary("and", shifted, lanes.constant(1));
  const std::string kept = compare(e, "NE", bit, lanes.constant(0), lanes.type());
  const Shape flat{rows, words * 16};
  define_scaled(
      e, node, cut_to(e, e.reshape(kept, {DType::kBool, lanes.type().shape}, flat), flat, x.shape));
}

}  // namespace lockstep
