// The text of every op, letter by letter: golden/<mnemonic>.mlir is the op's first sample as a
// graph of one node, golden/<mnemonic>__<sample>.mlir another one, and golden/program__<what>.mlir
// a whole program. With UPDATE_GOLDEN=1 the files are written anew and the tests fail saying so:
// read the difference before committing it.
#include "lockstep/backend/stablehlo/emit.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <sstream>

#include "tests/op_conformance/conformance.h"

namespace lockstep {
namespace {

using namespace conformance;
namespace fs = std::filesystem;

// -- what has a golden file

/// Samples besides an op's first whose text takes another way.
struct Further {
  const char *mnemonic, *sample;
};
constexpr Further kFurther[] = {
    {"convert", "float_to_bool"},
    {"convert", "bool_to_float"},
    {"compare", "eq_ints"},
    {"slice", "empty"},
    {"pad", "interior"},
    {"pad", "crop"},
    {"reduce_sum", "ints"},
    {"argmax", "ints"},
    {"argmax", "bytes"},
    {"dot_general", "batched"},
    {"dot_general", "batch_last"},
    {"dot_general", "outer"},
    {"conv2d", "stride_2"},
    {"conv2d", "dilation_2"},
    {"conv2d", "groups"},
    {"conv2d", "depthwise_multiplier"},
    {"conv2d_input_gradient", "stride_2"},
    {"conv2d_input_gradient", "dilation_2"},
    {"conv2d_input_gradient", "groups"},
    {"conv2d_input_gradient", "depthwise_multiplier"},
    {"conv2d_kernel_gradient", "stride_2"},
    {"conv2d_kernel_gradient", "dilation_2"},
    {"conv2d_kernel_gradient", "groups"},
    {"conv2d_kernel_gradient", "depthwise_multiplier"},
    {"max_pool2d", "overlap_same"},
    {"max_pool2d_gradient", "overlap_same"},
    {"avg_pool2d", "overlap_same"},
    {"avg_pool2d", "gaps"},
    {"avg_pool2d_gradient", "overlap_same"},
    {"avg_pool2d_gradient", "gaps"},
    {"dropout", "image"},
    {"dropout", "rank1"},
    {"dropout_gradient", "of800"},
};

bool is_emitted(Opcode opcode) {
  return opcode != Opcode::kParameter && opcode != Opcode::kTowerSum;
}

std::string emit_case(const Case& c) {
  return emit_stablehlo(OneNode(c, DType::kF32).graph, {.name = c.name(), .donations = {}});
}

/// Every dtype as a scalar, one repeated element, and elements of their own.
std::string constants() {
  Graph graph;
  Builder b(graph);
  const auto add = [&]<class T>(std::initializer_list<T> values) {
    for (T value : values) graph.add_result(b.constant(HostTensor::scalar(value)));
    graph.add_result(b.constant(static_cast<double>(*values.begin()), {dtype_of<T>(), {2, 3}}));
    graph.add_result(
        b.constant(HostTensor::of(Shape{static_cast<int64_t>(values.size()), 1}, values)));
  };
  const auto add_floats = [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    add(std::initializer_list<T>{T{1} / 3, T{-0.0}, Limits::quiet_NaN(), Limits::infinity(),
                                 -Limits::infinity(), Limits::denorm_min(), Limits::max()});
  };
  const auto add_integers = [&]<class T>() {
    add(std::initializer_list<T>{1, std::numeric_limits<T>::lowest(),
                                 std::numeric_limits<T>::max()});
  };
  add_floats.operator()<float>();
  add_floats.operator()<double>();
  add_integers.operator()<int32_t>();
  add_integers.operator()<int64_t>();
  add_integers.operator()<uint8_t>();
  add_integers.operator()<uint16_t>();
  add_integers.operator()<uint32_t>();
  add({true, false});
  return emit_stablehlo(graph, {.name = "constants", .donations = {}});
}

std::string no_elements() {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({DType::kF32, {0, 3}}, "x");
  graph.add_result(b.add(x, b.constant(HostTensor(DType::kF32, {0, 3}))));
  graph.add_result(b.constant(HostTensor(DType::kBool, {2, 0})));
  graph.add_result(b.like(x, 1.0));
  graph.add_result(b.reduce_sum(x, {0}));
  return emit_stablehlo(graph, {.name = "no_elements", .donations = {}});
}

std::string no_results() {
  Graph graph;
  Builder(graph).parameter({DType::kF32, {3}}, "x");
  return emit_stablehlo(graph, {.name = "no_results", .donations = {}});
}

/// Results may be a value of a node, one of several, a parameter, and one value twice.
std::string two_results() {
  Graph graph;
  Builder b(graph);
  const TensorType type{DType::kF32, {2, 3}};
  const Value x = b.parameter(type, "x"), y = b.parameter(type, "y");
  const Value sum = b.add(x, y);
  for (const Value& result : {sum, b.multiply(sum, y), x, sum}) graph.add_result(result);
  return emit_stablehlo(graph, {.name = "two_results", .donations = {}});
}

std::string donations() {
  Graph graph;
  Builder b(graph);
  const TensorType type{DType::kF32, {4}};
  const Value x = b.parameter(type, "x"), y = b.parameter(type, "y"), z = b.parameter(type, "z");
  graph.add_result(b.add(x, y));
  graph.add_result(b.multiply(y, z));
  return emit_stablehlo(
      graph,
      {.name = "donations", .donations = {{.input = 2, .result = 0}, {.input = 0, .result = 1}}});
}

struct Golden {
  std::string name;
  std::function<std::string()> text;
};

void PrintTo(const Golden& golden, std::ostream* os) {
  *os << golden.name;
}

const Golden kPrograms[] = {{"program__constants", constants},
                            {"program__no_elements", no_elements},
                            {"program__no_results", no_results},
                            {"program__two_results", two_results},
                            {"program__donations", donations}};

std::vector<Golden> goldens() {
  std::vector<Golden> all(std::begin(kPrograms), std::end(kPrograms));
  const OpDef* last = nullptr;
  for (const Case& c : cases_where([](const Case& c) { return is_emitted(c.def->opcode); })) {
    const auto text = [c] { return emit_case(c); };
    if (c.def != last) all.push_back({std::string(c.def->mnemonic), text});
    last = c.def;
    for (const Further& further : kFurther)
      if (c.def->mnemonic == further.mnemonic && c.sample.name == further.sample)
        all.push_back({c.name(), text});
  }
  return all;
}

// -- comparison

fs::path folder() {
  return fs::path(LOCKSTEP_SOURCE_DIR) / "tests/stablehlo/golden";
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

using GoldenText = testing::TestWithParam<Golden>;

TEST_P(GoldenText, IsEmittedLetterByLetter) {
  const fs::path path = folder() / (GetParam().name + ".mlir");
  const std::string text = GetParam().text();
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    FAIL() << "wrote " << path << "; run again without UPDATE_GOLDEN";
  }
  ASSERT_TRUE(fs::exists(path)) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(text, read(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Emit, GoldenText, testing::ValuesIn(goldens()),
                         [](const auto& info) { return info.param.name; });

TEST(GoldenFiles, AreThereForEveryOp) {
  for (const OpDef& def : all_ops())
    if (is_emitted(def.opcode)) {
      EXPECT_TRUE(fs::exists(folder() / fmt::format("{}.mlir", def.mnemonic))) << def.mnemonic;
    }
}

TEST(GoldenFiles, AreAllCompared) {
  std::set<std::string> expected, there;
  for (const Golden& golden : goldens()) expected.insert(golden.name + ".mlir");
  for (const auto& entry : fs::directory_iterator(folder()))
    there.insert(entry.path().filename().string());
  EXPECT_EQ(there, expected);
  // A sample that lost its name would lose its file silently.
  EXPECT_EQ(expected.size(), std::size(kPrograms) + std::size(kFurther) + all_ops().size() - 2);
}

// -- what holds of every text

size_t count(const std::string& text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// Every sample of every op, and its gradient's whole graph where it has one.
void for_each_text(const std::function<void(const std::string& name, const std::string& text)>& f) {
  for (const Case& c : cases_where([](const Case& c) { return is_emitted(c.def->opcode); })) {
    f(c.name(), emit_case(c));
    if (c.rules().vjp == nullptr || c.sample.operands.empty()) continue;
    const OneNode forward(c, DType::kF64);
    OneNode gradient(c, DType::kF32);
    replace_by_gradient(gradient, random_cotangents(forward));
    f("gradient of " + c.name(), emit_stablehlo(gradient.graph));
  }
}

/// Sums across devices, random bits and scatters are made of simpler ops, so that bits are the same
/// on every device and run (docs/determinism.md).
TEST(EmittedText, LeavesNothingToTheVendorsOrder) {
  const char* const kForbidden[] = {"all_reduce", "all_gather", "all_to_all",  "collective",
                                    "scatter",    "rng",        "custom_call", "batch_norm"};
  for_each_text([&](const std::string& name, const std::string& text) {
    const std::string body = text.substr(text.find('\n'));  // the module's name may be any word
    for (const char* word : kForbidden) EXPECT_EQ(count(body, word), 0u) << name << ": " << word;
  });
}

TEST(EmittedText, AsksForFullPrecisionOfFloat32Contractions) {
  size_t contractions = 0;
  for (const Case& c : cases_where([](const Case& c) { return c.def->traits & kContraction; })) {
    ++contractions;
    const std::string text = emit_case(c);
    EXPECT_EQ(count(text, "HIGHEST"), 2u) << c.name();
    EXPECT_EQ(count(text, "DEFAULT"), 0u) << c.name();
    // Doubles have one precision.
    EXPECT_EQ(count(emit_stablehlo(OneNode(c, DType::kF64).graph), "HIGHEST"), 0u) << c.name();
  }
  EXPECT_GT(contractions, 40u);
  for_each_text([](const std::string& name, const std::string& text) {
    const size_t products =
        count(text, "stablehlo.dot_general") + count(text, "stablehlo.convolution");
    EXPECT_EQ(count(text, "HIGHEST"), 2 * products) << name;
  });
}

TEST(EmittedText, RefusesTowerSumNamingTheLayer) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({DType::kF32, {3}}, "x");
  b.set_context("batch_normalization_7");
  graph.add_result(b.tower_sum(x));
  try {
    emit_stablehlo(graph);
    FAIL() << "emitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("batch_normalization_7"), std::string::npos)
        << error.what();
  }
}

std::string module_line(const std::string& name) {
  const std::string text = emit_stablehlo(Graph(), {.name = name, .donations = {}});
  return text.substr(0, text.find('\n'));
}

TEST(EmittedText, CleansTheNameForMlir) {
  EXPECT_EQ(module_line("tower_0"), "module @tower_0 {");
  EXPECT_EQ(module_line("my model/dense:1 \"é\"@\n"), "module @my_model_dense_1_______ {");
  // An MLIR name begins with a letter or '_'.
  EXPECT_EQ(module_line("2nd"), "module @_2nd {");
  EXPECT_EQ(module_line(""), "module @_ {");
}

}  // namespace
}  // namespace lockstep
