// Where plugins are looked for: in folders of the test's own.
#include "lockstep/backend/pjrt/discovery.h"

#include <algorithm>
#include <fstream>

#include "lockstep/backend/pjrt/pjrt_backend.h"
#include "tests/pjrt/fake_plugin_test_util.h"

namespace lockstep::pjrt {
namespace {

/// A home, a cache and a virtual environment, all empty, and no variable that names a plugin.
class Discovery : public testing::Test {
 protected:
  std::string folder(const char* name) const { return folder_ / name; }

  static void put(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "plugin";
  }
  /// Below a prefix, as pip puts it there.
  static std::string packaged(const std::string& prefix, const std::string& version = "3.11",
                              const std::string& package = "toy12") {
    return prefix + "/lib/python" + version + "/site-packages/plugins/" + package + "/plugin.so";
  }
  /// For a kind that no machine has.
  static PluginSearch search() {
    return find_plugin({"toy", "toys", "pip install toy", {"plugins/toy*/plugin.so"}});
  }

  TemporaryFolder folder_;
  ScopedVariable home_{"HOME", folder("home").c_str()};
  ScopedVariable cache_{"XDG_CACHE_HOME", folder("cache").c_str()};
  ScopedVariable environment_{"VIRTUAL_ENV", folder("venv").c_str()};
  ScopedVariable plugin_{"LOCKSTEP_PJRT_PLUGIN_TOY", nullptr};
};

TEST_F(Discovery, KnowsItsKinds) {
  EXPECT_EQ(find_plugin_kind("cuda")->hardware, "NVIDIA GPUs");
  EXPECT_EQ(find_plugin_kind("xla_cpu")->kind, "xla_cpu");
  EXPECT_EQ(find_plugin_kind("cpu"), nullptr);
  EXPECT_EQ(find_plugin_kind(""), nullptr);
}

TEST_F(Discovery, FindsNothingInEmptyFolders) {
  const PluginSearch nothing = search();
  EXPECT_EQ(nothing.path, "");
  const std::vector<std::string> expected = {
      "LOCKSTEP_PJRT_PLUGIN_TOY",
      folder("venv") + "/lib/python3*/site-packages",
      folder("cache") + "/lockstep/pjrt/lib/python3*/site-packages",
      folder("home") + "/.local/lib/python3*/site-packages",
      "/usr/local/lib/python3*/site-packages",
      "/usr/local/lib/python3*/dist-packages",
      "/usr/lib/python3*/site-packages",
      "/usr/lib/python3*/dist-packages",
      "/usr/local/lib/pjrt",
      "/usr/lib/pjrt",
      "/opt/lockstep/lib"};
  EXPECT_EQ(nothing.looked, expected);
}

TEST_F(Discovery, SaysWhereItLookedAndWhatWouldBringIt) {
  const Error error = caught([] { count_pjrt_devices("sycl"); });
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_TRUE(contains(error.what(), "[devices] sycl devices (Intel GPUs) need a PJRT plugin"))
      << error.what();
  const PjrtKindReport report = report_pjrt_kind("sycl");
  EXPECT_EQ(report.count, 0);
  for (const std::string& text : {std::string(error.what()), report.description}) {
    EXPECT_TRUE(contains(text, "LOCKSTEP_PJRT_PLUGIN_SYCL, " + folder("venv"))) << text;
    EXPECT_TRUE(contains(text, "/opt/lockstep/lib. pip install")) << text;
  }
}

TEST_F(Discovery, TheVariableWins) {
  put(packaged(folder("venv")));
  const std::string mine = folder("mine.so");
  put(mine);
  const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_TOY", mine.c_str());
  EXPECT_EQ(search().path, mine);
  EXPECT_EQ(search().looked, std::vector<std::string>{"LOCKSTEP_PJRT_PLUGIN_TOY"});
}

TEST_F(Discovery, AnEmptyVariableIsNone) {
  put(packaged(folder("venv")));
  const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_TOY", "");
  EXPECT_EQ(search().path, packaged(folder("venv")));
}

TEST_F(Discovery, AVariableThatNamesNoFileIsAnErrorThatNamesTheVariable) {
  put(packaged(folder("venv")));
  for (const std::string& name : {folder("missing.so"), std::string(300, 'x')}) {
    const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_TOY", name.c_str());
    expect_error(
        ErrorCode::kNotFound,
        "[LOCKSTEP_PJRT_PLUGIN_TOY] must name a plugin's file: \"" + name + "\" does not exist",
        [] { search(); });
  }
}

TEST_F(Discovery, TheActiveEnvironmentComesBeforeTheCacheAndTheUser) {
  put(packaged(folder("home") + "/.local"));
  EXPECT_EQ(search().path, packaged(folder("home") + "/.local"));
  put(packaged(folder("cache") + "/lockstep/pjrt"));
  EXPECT_EQ(search().path, packaged(folder("cache") + "/lockstep/pjrt"));
  put(packaged(folder("venv")));
  EXPECT_EQ(search().path, packaged(folder("venv")));
}

TEST_F(Discovery, TheCacheLiesInTheHomeByDefault) {
  const ScopedVariable cache("XDG_CACHE_HOME", nullptr), environment("VIRTUAL_ENV", nullptr);
  put(packaged(folder("home") + "/.cache/lockstep/pjrt"));
  EXPECT_EQ(search().path, packaged(folder("home") + "/.cache/lockstep/pjrt"));
}

TEST_F(Discovery, ARelativeCacheIsNone) {
  const ScopedVariable cache("XDG_CACHE_HOME", "cache");
  EXPECT_EQ(search().looked[2],
            folder("home") + "/.cache/lockstep/pjrt/lib/python3*/site-packages");
}

TEST_F(Discovery, WithoutAHomeTheSystemIsLeft) {
  const ScopedVariable cache("XDG_CACHE_HOME", nullptr), environment("VIRTUAL_ENV", nullptr),
      home("HOME", nullptr);
  EXPECT_EQ(search().looked[1], "/usr/local/lib/python3*/site-packages");
}

TEST_F(Discovery, TheNewestVersionWins) {
  for (const char* version : {"3.9", "3.11", "3.8"}) put(packaged(folder("venv"), version));
  EXPECT_EQ(search().path, packaged(folder("venv"), "3.11"));
  put(packaged(folder("venv"), "3.11", "toy9"));
  EXPECT_EQ(search().path, packaged(folder("venv"), "3.11", "toy12"));
  put(packaged(folder("venv"), "3.11", "toy13"));
  EXPECT_EQ(search().path, packaged(folder("venv"), "3.11", "toy13"));
}

TEST_F(Discovery, AFolderWithoutThePluginIsPassedOver) {
  put(packaged(folder("venv"), "3.9"));
  std::filesystem::create_directories(folder("venv") +
                                      "/lib/python3.11/site-packages/plugins/toy13");
  EXPECT_EQ(search().path, packaged(folder("venv"), "3.9"));
}

TEST_F(Discovery, OtherNamesAreNotTaken) {
  put(folder("venv") + "/lib/python2.7/site-packages/plugins/toy12/plugin.so");
  put(folder("venv") + "/lib/python3.11/site-packages/plugins/other7/plugin.so");
  put(folder("venv") + "/lib/python3.11/site-packages/plugins/toy12/other.so");
  EXPECT_EQ(search().path, "");
}

TEST_F(Discovery, FoldersMayHoldAnyCharacters) {
  const std::string odd = folder("a [b] c?");
  const ScopedVariable environment("VIRTUAL_ENV", odd.c_str());
  put(packaged(odd));
  EXPECT_EQ(search().path, packaged(odd));
}

TEST_F(Discovery, AFoundFileThatIsNoPluginIsReported) {
  const std::string path = folder("text.so");
  put(path);
  const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_CUDA", path.c_str());
  const PjrtKindReport report = report_pjrt_kind("cuda");
  EXPECT_EQ(report.count, 0);
  EXPECT_TRUE(contains(report.description,
                       "NVIDIA GPUs: [LOCKSTEP_PJRT_PLUGIN_CUDA] must name a plugin's file: [pjrt] "
                       "plugin cannot be loaded: " +
                           path))
      << report.description;
}

TEST_F(Discovery, AVariableThatNamesTheWrongFileIsAnErrorThatNamesBoth) {
  const std::string text = folder("text.so"), directory = folder("");
  put(text);
  for (const std::string& path : {text, directory, std::string(LOCKSTEP_OTHER_LIBRARY)}) {
    const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_CUDA", path.c_str());
    const Error error = caught([] { make_pjrt_backend("cuda", 1, {}); });
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_TRUE(contains(error.what(), "[LOCKSTEP_PJRT_PLUGIN_CUDA] must name a plugin's file: "))
        << error.what();
    EXPECT_TRUE(contains(error.what(), path)) << error.what();
  }
}

TEST_F(Discovery, ThePluginOfTheVariableOpensItsDevices) {
  const FakePlugin fake;
  const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_CUDA", fake.path().c_str());
  EXPECT_EQ(count_pjrt_devices("cuda"), 2);
  const PjrtKindReport report = report_pjrt_kind("cuda");
  EXPECT_EQ(report.count, 2);
  EXPECT_EQ(report.description, "fake device 0; " + fake.path());
  expect_error(ErrorCode::kNotFound,
               "[devices] cuda has 2 devices, numbered from 0: the device with index 2",
               [] { make_pjrt_backend("cuda", 3, {}); });
  fake.expect_balance();
}

TEST_F(Discovery, DevicesThatCannotBeOpenedAreNotFound) {
  const FakePlugin fake;
  const ScopedVariable variable("LOCKSTEP_PJRT_PLUGIN_CUDA", fake.path().c_str());
  fake->fault(abi::Function::kClientCreate).code = abi::kFailedPrecondition;
  expect_error(ErrorCode::kNotFound, "[devices] no cuda device can be opened: [pjrt] opening",
               [] { count_pjrt_devices("cuda"); });
  fake->fault(abi::Function::kClientCreate).code = abi::kResourceExhausted;
  expect_error(ErrorCode::kOutOfMemory, "no cuda device can be opened",
               [] { count_pjrt_devices("cuda"); });
  fake->fault(abi::Function::kClientCreate).code = abi::kOk;
  EXPECT_EQ(count_pjrt_devices("cuda"), 2);
  fake.expect_balance();
}

}  // namespace
}  // namespace lockstep::pjrt
