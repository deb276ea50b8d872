// What real Keras made of small compiled models (version 3.15.1, recorded once), made again:
// predictions before training, each step's loss, weights and optimizer state after it, and the
// metrics then.
//
// LOCKSTEP_ORACLE_DEVICES says where (cpu:2), LOCKSTEP_ORACLE_CASES another folder of cases.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/npy.h"
#include "lockstep/formats/zip.h"
#include "lockstep/lockstep.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

fs::path cases_folder() {
  return variable("LOCKSTEP_ORACLE_CASES", LOCKSTEP_SOURCE_DIR "/tests/keras_oracle/cases");
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cases_folder()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string devices() {
  return variable("LOCKSTEP_ORACLE_DEVICES", "cpu:2");
}

class Oracle : public testing::TestWithParam<std::string> {
 protected:
  /// Accelerators stay open from case to case, with the programs that cases share.
  static void SetUpTestSuite() { backend_ = make_backend(parse_devices(devices())); }
  static void TearDownTestSuite() { backend_.reset(); }

  Oracle()
      : folder_(cases_folder() / GetParam()),
        case_(parse_json(read_file(folder_ / "case.json"), "case.json")),
        expected_(read_file(folder_ / "expect.npz"), "expect.npz") {}

  bool has(const std::string& name) const {
    for (const ZipMember& member : expected_.members())
      if (member.name == name + ".npy") return true;
    return false;
  }
  HostTensor expected(const std::string& name) const {
    return parse_npy(expected_.read(name + ".npy"), name);
  }

  /// |got - want| <= rtol * |want| + atol * the tensor's largest magnitude; integers are equal. For
  /// tensors that are rounding noise alone the case names an absolute tolerance.
  void expect_near(const HostTensor& got, const std::string& name) const {
    const HostTensor want = expected(name);
    ASSERT_EQ(got.shape(), want.shape()) << name;
    const Json& tolerance = case_["tolerance"];
    const HostTensor a = got.as(DType::kF64), b = want.as(DType::kF64);
    const auto x = a.data<double>(), y = b.data<double>();
    double largest = 0;
    for (double value : y) largest = std::max(largest, std::abs(value));
    double absolute = tolerance["atol"].get<double>() * largest;
    if (const Json& own = tolerance.value("tensor_atol", Json::object()); own.contains(name))
      absolute = own[name].get<double>();
    for (size_t i = 0; i < x.size(); ++i) {
      const double allowed =
          is_float(want.dtype()) ? tolerance["rtol"].get<double>() * std::abs(y[i]) + absolute : 0;
      ASSERT_LE(std::abs(x[i] - y[i]), allowed)
          << name << " at " << i << ": " << x[i] << " for Keras's " << y[i];
    }
  }

  static inline std::unique_ptr<Backend> backend_;
  const fs::path folder_;
  const Json case_;
  const ZipReader expected_;
};

TEST_P(Oracle, TrainsAsKerasDoes) {
  const auto batch = case_.value("batch_size", int64_t{32});
  Model model = Model::load(folder_ / case_.value("model_file", "model.keras"));
  if (case_.contains("weights_file"))
    model.load_weights(folder_ / case_["weights_file"].get<std::string>());
  const DatasetPtr data = open_source((folder_ / "data.npz").string(), Part::kTrain);
  const EvaluateArguments evaluate{.batch_size = batch, .devices = devices()};
  for (const NamedTensor& output : model.predict(data, evaluate))
    expect_near(output.tensor, "predict/" + output.name);
  if (!case_["train"].get<bool>()) return;

  FitArguments fit{.batch_size = batch, .epochs = case_["epochs"].get<int64_t>()};
  fit.shuffle = false;
  fit.verbose = 0;
  fit.devices = devices();
  const History history = model.fit(data, fit);
  expect_near(HostTensor::from<double>({static_cast<int64_t>(history.step_losses.size())},
                                       history.step_losses),
              "loss");

  const TemporaryFolder temporary;
  model.save(temporary / "trained.keras");
  const Hdf5Reader weights(
      ZipReader(read_file(temporary / "trained.keras"), "trained").read("model.weights.h5"),
      "weights");
  for (const ZipMember& member : expected_.members()) {
    if (!member.name.starts_with("w/")) continue;
    const std::string path = member.name.substr(0, member.name.size() - 4);
    ASSERT_TRUE(weights.has_dataset(path.substr(2))) << path;
    expect_near(weights.read(path.substr(2)), path);
  }
  for (const auto& [name, value] : model.evaluate(data, evaluate))
    if (has("evaluate/" + name)) expect_near(HostTensor::scalar(value), "evaluate/" + name);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Oracle, testing::ValuesIn(case_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lockstep
