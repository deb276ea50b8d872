// Loading a plugin, and calling its functions: versions, tables and structs of other sizes, errors,
// functions that never come back.
#include "lockstep/backend/pjrt/plugin.h"

#include <fstream>

#include "lockstep/backend/pjrt/discovery.h"
#include "lockstep/backend/pjrt/pjrt_backend.h"
#include "tests/pjrt/fake_plugin_test_util.h"

namespace lockstep::pjrt {
namespace {

using abi::Function;

// -- loading

TEST(PluginLoading, TellsItsVersionAndAttributes) {
  FakePlugin fake;
  const auto plugin = fake.load();
  EXPECT_EQ(plugin->path(), fake.path());
  EXPECT_EQ(plugin->minor_version(), 115);
  EXPECT_EQ(plugin->description(), "PJRT 0.115, xla_version 2, stablehlo_current_version 1.20.0");
  EXPECT_EQ(fake->calls_of(Function::kPluginInitialize), 1);
}

TEST(PluginLoading, AttributesAreOptional) {
  FakePlugin fake;
  fake->fault(Function::kPluginAttributes).is_missing = true;
  EXPECT_EQ(fake.load()->description(), "PJRT 0.115");
}

TEST(PluginLoading, AFileIsLoadedOnceByWhateverName) {
  FakePlugin fake;
  const auto plugin = fake.load();
  const std::filesystem::path path = fake.path();
  const std::filesystem::path link = path.parent_path() / "link.so";
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(Plugin::load(link), plugin);
  EXPECT_EQ(Plugin::load(path.parent_path() / "." / path.filename()), plugin);
  EXPECT_EQ(fake->calls_of(Function::kPluginInitialize), 1);
}

TEST(PluginLoading, ABareNameIsAFileOfTheCurrentFolder) {
  FakePlugin fake;
  const std::filesystem::path before = std::filesystem::current_path(), path = fake.path();
  std::filesystem::current_path(path.parent_path());
  std::shared_ptr<Plugin> plugin;
  EXPECT_NO_THROW(plugin = Plugin::load(path.filename()));
  std::filesystem::current_path(before);
  EXPECT_EQ(fake.load(), plugin);
}

TEST(PluginLoading, AMissingFileIsNotFound) {
  expect_error(ErrorCode::kNotFound, "[pjrt] plugin not found: \"/no/such/plugin.so\"",
               [] { Plugin::load("/no/such/plugin.so"); });
  expect_error(ErrorCode::kNotFound, "plugin not found", [] { Plugin::load(""); });
  expect_error(ErrorCode::kNotFound, "plugin not found",
               [] { Plugin::load("/tmp/" + std::string(300, 'x')); });
}

TEST(PluginLoading, AFileThatIsNoLibraryBringsTheLoadersWords) {
  TemporaryFolder folder;
  const std::string path = folder / "text.so";
  std::ofstream(path) << "no library\n";
  const Error error = caught([&] { Plugin::load(path); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(contains(error.what(), "[pjrt] plugin cannot be loaded: " + path)) << error.what();
  expect_error(ErrorCode::kUnsupported, "plugin cannot be loaded: " + folder.path().string(),
               [&] { Plugin::load(folder.path()); });
}

TEST(PluginLoading, AnyOtherLibraryIsNoPlugin) {
  expect_error(ErrorCode::kUnsupported,
               "[pjrt] not a PJRT plugin, it has no GetPjrtApi: \"" LOCKSTEP_OTHER_LIBRARY "\"",
               [] { Plugin::load(LOCKSTEP_OTHER_LIBRARY); });
}

TEST(PluginLoading, APluginWithoutATableIsRefused) {
  FakePlugin fake;
  fake->has_no_api = true;
  expect_error(ErrorCode::kUnsupported, "GetPjrtApi of \"" + fake.path() + "\" returned nothing",
               [&] { fake.load(); });
}

TEST(PluginLoading, VersionsFrom57OnAreTaken) {
  struct Sample {
    int major, minor;
    bool is_taken;
  };
  for (const Sample& sample : {Sample{0, 56, false},
                               {0, 57, true},
                               {0, 116, true},
                               {0, 200, true},
                               {1, 0, false},
                               {1, 115, false}}) {
    FakePlugin fake;
    fake->major_version = sample.major;
    fake->minor_version = sample.minor;
    if (sample.is_taken) {
      EXPECT_EQ(fake.load()->minor_version(), sample.minor);
      continue;
    }
    const Error error = caught([&] { fake.load(); });
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(std::string(error.what()),
              fmt::format("[pjrt] plugins of PJRT 0.57 or newer 0.x work: \"{}\" is {}.{}",
                          fake.path(), sample.major, sample.minor));
    EXPECT_EQ(fake->calls_of(Function::kPluginInitialize), 0);
  }
}

TEST(PluginLoading, MayBeTriedAgainAfterAFailure) {
  FakePlugin fake;
  fake->fault(Function::kPluginInitialize).code = abi::kUnavailable;
  expect_error(ErrorCode::kInternal,
               "initialising the plugin: PluginInitialize failed with UNAVAILABLE",
               [&] { fake.load(); });
  fake->fault(Function::kPluginInitialize).code = abi::kOk;
  EXPECT_NO_THROW(fake.load());
  fake.expect_balance();
}

// -- errors

TEST(PluginErrors, MeanWhatTheHeaderSays) {
  const std::pair<int, ErrorCode> meanings[] = {
      {abi::kCancelled, ErrorCode::kInternal},
      {abi::kUnknown, ErrorCode::kInternal},
      {abi::kInvalidArgument, ErrorCode::kInvalidArgument},
      {abi::kDeadlineExceeded, ErrorCode::kInternal},
      {abi::kNotFound, ErrorCode::kNotFound},
      {abi::kAlreadyExists, ErrorCode::kInternal},
      {abi::kPermissionDenied, ErrorCode::kInternal},
      {abi::kResourceExhausted, ErrorCode::kOutOfMemory},
      {abi::kFailedPrecondition, ErrorCode::kInternal},
      {abi::kAborted, ErrorCode::kInternal},
      {abi::kOutOfRange, ErrorCode::kInvalidArgument},
      {abi::kUnimplemented, ErrorCode::kUnsupported},
      {abi::kInternal, ErrorCode::kInternal},
      {abi::kUnavailable, ErrorCode::kInternal},
      {abi::kDataLoss, ErrorCode::kDataLoss},
      {abi::kUnauthenticated, ErrorCode::kInternal},
      {99, ErrorCode::kInternal},
      {-1, ErrorCode::kInternal}};
  FakePlugin fake;
  const auto plugin = fake.load();
  for (const auto& [code, meaning] : meanings) {
    fake->fault(Function::kClientCreate).code = code;
    const Error error = caught([&] { Client::create(plugin, {}); });
    EXPECT_EQ(error.code(), meaning) << error.what();
    EXPECT_EQ(std::string(error.what()),
              fmt::format("[pjrt] opening the devices: ClientCreate failed with {}: the fake was "
                          "told to refuse (plugin \"{}\")",
                          error_name(static_cast<abi::ErrorCode>(code)), fake.path()));
  }
  EXPECT_EQ(fake->created[fake::kErrors], std::ssize(meanings));
  fake.expect_balance();
}

TEST(PluginErrors, HaveTheNamesOfTheirCodes) {
  EXPECT_EQ(error_name(abi::kCancelled), "CANCELLED");
  EXPECT_EQ(error_name(abi::kResourceExhausted), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(error_name(abi::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(error_name(static_cast<abi::ErrorCode>(17)), "an unknown code");
}

/// Calls a function with zeroed arguments.
template <class Args>
Error error_of_call(const Plugin& plugin) {
  return caught([&] {
    Call<Args> arguments;
    plugin.call(arguments, "testing");
  });
}

bool returns_errors(Function function) {
  return function != Function::kErrorDestroy && function != Function::kErrorMessage;
}

TEST(PluginErrors, OfEveryFunctionNameItAndAreDestroyed) {
  FakePlugin fake;
  const auto plugin = fake.load();
#define PJRT_FUNCTION(slot, Name, last_field)                                                     \
  if (returns_errors(Function::k##Name)) {                                                        \
    fake->fault(Function::k##Name).code = abi::kDataLoss;                                         \
    const Error error = error_of_call<abi::Name##Args>(*plugin);                                  \
    EXPECT_TRUE(contains(error.what(), "[pjrt] testing: " #Name " failed with")) << error.what(); \
    EXPECT_TRUE(contains(error.what(), "the fake was told to refuse (plugin \"" + fake.path()))   \
        << error.what();                                                                          \
    fake->fault(Function::k##Name).code = abi::kOk;                                               \
  }
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION
  fake.expect_balance();
}

TEST(PluginErrors, WithoutACodeAreInternal) {
  FakePlugin fake;
  const auto plugin = fake.load();
  fake->fault(Function::kErrorGetCode).code = abi::kNotFound;
  fake->fault(Function::kClientCreate).code = abi::kNotFound;
  const Error error = caught([&] { Client::create(plugin, {}); });
  EXPECT_EQ(error.code(), ErrorCode::kInternal);
  EXPECT_TRUE(contains(error.what(), "ClientCreate failed with UNKNOWN: the fake was told"))
      << error.what();
  fake.expect_balance();
}

TEST(PluginErrors, AreCutBeforeTheirDumps) {
  FakePlugin fake;
  const auto plugin = fake.load();
  fake->words = "out of memory" + std::string(100'000, '.');
  fake->fault(Function::kClientCreate).code = abi::kResourceExhausted;
  const Error error = caught([&] { Client::create(plugin, {}); });
  EXPECT_TRUE(contains(error.what(), "RESOURCE_EXHAUSTED: out of memory...")) << error.what();
  EXPECT_TRUE(contains(error.what(), " ... (plugin \"" + fake.path())) << error.what();
  EXPECT_LT(std::string(error.what()).size(), 1000);
}

TEST(PluginErrors, WithoutWordsNameTheFunctionStill) {
  FakePlugin fake;
  const auto plugin = fake.load();
  fake->words = "";
  fake->fault(Function::kClientCreate).code = abi::kInternal;
  expect_error(ErrorCode::kInternal, "opening the devices: ClientCreate failed with INTERNAL: ",
               [&] { Client::create(plugin, {}); });
}

TEST(PluginErrors, AreSwallowedWhereNothingCanBeThrown) {
  FakePlugin fake;
  {
    const auto client = fake.client();
    fake->fault(Function::kClientDestroy).code = abi::kInternal;
  }
  EXPECT_EQ(fake->calls_of(Function::kClientDestroy), 1);
  EXPECT_EQ(fake.living(fake::kErrors), 0);
}

// -- tables of other lengths

TEST(PluginTables, AFunctionBehindTheEndIsNamed) {
  FakePlugin fake;
  const auto plugin = fake.load();
#define PJRT_FUNCTION(slot, Name, last_field)                                                \
  {                                                                                          \
    fake->table_size = slot;                                                                 \
    fake.remake_table();                                                                     \
    EXPECT_FALSE(plugin->has(Function::k##Name));                                            \
    const Error error = error_of_call<abi::Name##Args>(*plugin);                             \
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();                        \
    EXPECT_EQ(std::string(error.what()), "[pjrt] testing: the plugin has no " #Name ": \"" + \
                                             fake.path() + "\" (PJRT 0.115)");               \
    fake->table_size = slot + 1;                                                             \
    fake.remake_table();                                                                     \
    EXPECT_TRUE(plugin->has(Function::k##Name));                                             \
  }
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION
}

TEST(PluginTables, AnEmptyEntryIsNamed) {
  FakePlugin fake;
  const auto plugin = fake.load();
  fake->fault(Function::kBufferCopyToDevice).is_missing = true;
  fake.remake_table();
  EXPECT_FALSE(plugin->has(Function::kBufferCopyToDevice));
  EXPECT_TRUE(contains(error_of_call<abi::BufferCopyToDeviceArgs>(*plugin).what(),
                       "the plugin has no BufferCopyToDevice"));
}

TEST(PluginTables, AShortOneIsRefusedAtLoading) {
  for (size_t size : {0, 1, 3}) {
    FakePlugin fake;
    fake->table_size = size;
    expect_error(ErrorCode::kUnsupported,
                 "initialising the plugin: the plugin has no PluginInitialize: \"" + fake.path(),
                 [&] { fake.load(); });
  }
}

// -- argument structs of other lengths: the flow that uses them is in client_test.cpp

TEST(PluginSizes, BeyondOurRoomAreUnsupported) {
  FakePlugin fake;
  const auto plugin = fake.load();
  const size_t wanted = sizeof(Call<abi::ClientCreateArgs>) + 1;
  fake->fault(Function::kClientCreate).wanted_size = wanted;
  const Error error = caught([&] { Client::create(plugin, {}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
  EXPECT_TRUE(contains(error.what(),
                       fmt::format("Unexpected PJRT_ClientCreate_Args size: expected {}", wanted)))
      << error.what();
  EXPECT_TRUE(contains(error.what(), "[pjrt] opening the devices: ClientCreate ")) << error.what();
  EXPECT_TRUE(contains(error.what(), fake.path())) << error.what();
  EXPECT_EQ(fake->calls_of(Function::kClientCreate), 1);
  fake.expect_balance();
}

TEST(PluginSizes, AnErrorOfTheSecondCallIsReported) {
  FakePlugin fake;
  const auto plugin = fake.load();
  fake->fault(Function::kClientCreate).wanted_size = sizeof(Call<abi::ClientCreateArgs>);
  fake->fault(Function::kClientCreate).code = abi::kNotFound;
  expect_error(ErrorCode::kNotFound, "ClientCreate failed with NOT_FOUND: the fake was told",
               [&] { Client::create(plugin, {}); });
  EXPECT_EQ(fake->calls_of(Function::kClientCreate), 2);
  fake.expect_balance();
}

// -- functions that never come back

class PluginHangDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    style_ = testing::FLAGS_gtest_death_test_style;
    // The watch and the hanging thread need a process that did not begin as a fork.
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  void TearDown() override { testing::FLAGS_gtest_death_test_style = style_; }

  static std::string message(const std::string& doing) {
    return "^lockstep: foreign code did not come back for 1 s: " + doing +
           " \\(plugin " LOCKSTEP_FAKE_PLUGIN "\\)\\. The process ends; [^\n]*--resume[^\n]*\n$";
  }
  std::string style_;
};

TEST_F(PluginHangDeathTest, ACompilationThatHangsEndsTheProcess) {
  EXPECT_EXIT(
      {
        const ScopedVariable limit("LOCKSTEP_VENDOR_TIMEOUT", "1");
        FakePlugin fake(LOCKSTEP_FAKE_PLUGIN);
        const auto client = fake.client();
        fake->fault(Function::kClientCompile).hangs = true;
        client->compile("copy", {}, "tower_32");
      },
      testing::ExitedWithCode(70), message("compiling tower_32"));
}

TEST_F(PluginHangDeathTest, AResultThatNeverComesEndsTheProcess) {
  EXPECT_EXIT(
      {
        const ScopedVariable limit("LOCKSTEP_VENDOR_TIMEOUT", "1");
        FakePlugin fake(LOCKSTEP_FAKE_PLUGIN);
        const auto client = fake.client();
        fake->event_delay_milliseconds = 1'000'000;
        const float from = 1;
        float to = 0;
        const Buffer buffer = client->upload(&from, {}, 0);
        buffer.download(&to, sizeof to).wait("tower_32");
      },
      testing::ExitedWithCode(70), message("tower_32"));
}

// -- declarations of ours against a plugin that others wrote

/// "PJRT_Client_Create_Args" -> "clientcreate".
std::string plain(std::string_view name) {
  std::string letters;
  for (char c : name)
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (letters.starts_with("pjrt")) letters.erase(0, 4);
  if (letters.ends_with("args")) letters.resize(letters.size() - 4);
  return letters;
}

/// Refuses every struct of one byte; the words name the struct and the size that is wanted.
void expect_known(const abi::Api& api, Function function, void* arguments, std::string_view name,
                  size_t size, size_t room) {
  using Any = abi::Error* (*)(void*);
  const auto call = [&](Function which, void* with) {
    return reinterpret_cast<Any>(api.functions[static_cast<size_t>(which)])(with);
  };
  abi::Error* error = call(function, arguments);
  ASSERT_NE(error, nullptr) << name;
  abi::ErrorMessageArgs message{};
  message.header.struct_size = sizeof message;
  message.error = error;
  call(Function::kErrorMessage, &message);
  const std::string words(message.message, message.message_size);
  abi::ErrorDestroyArgs destroy{};
  destroy.header.struct_size = sizeof destroy;
  destroy.error = error;
  call(Function::kErrorDestroy, &destroy);

  char their_name[100] = "";
  size_t wanted = 0;
  ASSERT_EQ(
      std::sscanf(words.c_str(), "Unexpected %99s size: expected %zu, got 1.", their_name, &wanted),
      2)
      << name << ": " << words;
  EXPECT_EQ(plain(their_name), plain(name));
  EXPECT_GE(wanted, size) << name;
  EXPECT_LE(wanted, room) << name;
}

TEST(Abi, IsThatOfALivePlugin) {
  const std::string path = find_plugin(*find_plugin_kind("xla_cpu")).path;
  if (path.empty()) GTEST_SKIP() << "no xla_cpu plugin is installed";
  ASSERT_GT(count_pjrt_devices("xla_cpu"), 0);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto& api = *reinterpret_cast<const abi::Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  EXPECT_EQ(api.version.header.struct_size, sizeof api.version);
#define PJRT_FUNCTION(slot, Name, last_field)                                \
  /* Two return no error; the third never reads its arguments on CPUs. */    \
  if (returns_errors(Function::k##Name) &&                                   \
      Function::k##Name != Function::kTopologyDescriptionCreate) {           \
    Call<abi::Name##Args> arguments;                                         \
    arguments->header.struct_size = 1;                                       \
    expect_known(api, Function::k##Name, &arguments, #Name,                  \
                 abi::FunctionOf<abi::Name##Args>::kSize, sizeof arguments); \
  }
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION
}

}  // namespace
}  // namespace lockstep::pjrt
