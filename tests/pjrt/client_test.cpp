// Clients, programs, buffers and events: on the fake plugin, which counts, and on XLA's CPU devices
// where their plugin is installed.
#include "lockstep/backend/pjrt/client.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <numeric>
#include <thread>

#include "lockstep/backend/pjrt/discovery.h"
#include "lockstep/backend/pjrt/pjrt_backend.h"
#include "tests/pjrt/fake_plugin_test_util.h"

namespace lockstep::pjrt {
namespace {

using abi::Function;

const TensorType kFour{DType::kF32, {4}};
using Four = std::array<float, 4>;

Four downloaded(const Buffer& buffer) {
  Four values{};
  buffer.download(values.data(), sizeof values).wait("downloading");
  return values;
}

std::vector<Buffer> run(const LoadedProgram& program, int device, const Buffer& input) {
  abi::Buffer* const arguments[] = {input.get()};
  return program.run(device, arguments);
}

/// Calls every function that the wrapper has.
void use_everything(const std::shared_ptr<Plugin>& plugin) {
  const auto client = Client::create(plugin, {});
  EXPECT_EQ(client->device_count(), 2);
  client->device_kind(0);
  client->platform();
  const auto compiled = client->compile("copy", {}, "tower_32");
  const auto program = client->load(compiled->serialize(), "tower_32");
  program->memory_plan();
  const Four from{1, 2, 3, 4};
  const Buffer input = client->upload(from.data(), kFour, 0);
  const std::vector<Buffer> results = run(*program, 0, input);
  input.is_donated();
  const Buffer copy = results.at(0).copy_to(1);
  copy.ready().wait("copying");
  EXPECT_EQ(downloaded(copy), from);
}

// -- the fake

TEST(FakeClient, OptionsArriveWithTheirTypes) {
  FakePlugin fake;
  const auto client = Client::create(fake.load(), {{"device_count", int64_t{3}},
                                                   {"fast", true},
                                                   {"slow", false},
                                                   {"name", std::string("a b")},
                                                   {"fraction", 0.5}});
  EXPECT_EQ(client->platform(),
            "fake device_count=3;fast=true;slow=false;name=\"a b\";fraction=0.500000;");
  EXPECT_EQ(client->device_count(), 3);
  EXPECT_EQ(client->device_kind(2), "fake device 2");
}

TEST(FakeClient, TensorsGoThroughAProgram) {
  FakePlugin fake;
  const auto client = fake.client();
  const auto program = client->compile("copy copy", {}, "two");
  EXPECT_EQ(program->output_count(), 2);
  EXPECT_EQ(program->name(), "two");
  const Four first{1, 2, 3, 4}, second{5, 6, 7, 8};
  const Buffer a = client->upload(first.data(), kFour, 1),
               b = client->upload(second.data(), kFour, 1);
  abi::Buffer* const arguments[] = {a.get(), b.get()};
  const std::vector<Buffer> results = program->run(1, arguments);
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(downloaded(results[0]), first);
  EXPECT_EQ(downloaded(results[1]), second);
  EXPECT_FALSE(a.is_donated());
}

TEST(FakeClient, EveryDtypeHasItsSize) {
  FakePlugin fake;
  const auto client = fake.client();
  for (DType dtype : {DType::kF32, DType::kF64, DType::kS32, DType::kS64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kBool}) {
    const TensorType type{dtype, {3, 5}};
    std::vector<char> from(type.size_bytes()), to(type.size_bytes());
    std::iota(from.begin(), from.end(), '\1');
    const Buffer buffer = client->upload(from.data(), type, 0);
    buffer.download(to.data(), to.size()).wait("downloading");
    EXPECT_EQ(from, to) << type.str();
    // The fake refuses to write more than there is room for: it sees no byte more than we do.
    EXPECT_THROW(buffer.download(to.data(), to.size() - 1), Error) << type.str();
  }
}

TEST(FakeClient, AnUploadIsACopyAndALoanIsNot) {
  FakePlugin fake;
  const auto client = fake.client();
  Four values{1, 2, 3, 4};
  const Buffer copy = client->upload(values.data(), kFour, 0),
               loan = client->borrow(values.data(), kFour, 0);
  values[0] = 9;
  EXPECT_EQ(downloaded(copy)[0], 1);
  EXPECT_EQ(downloaded(loan)[0], 9);
}

TEST(FakeClient, ADonatedBufferIsGone) {
  FakePlugin fake;
  const auto client = fake.client();
  const auto program = client->compile("donate", {}, "update");
  const Four from{1, 2, 3, 4};
  const Buffer input = client->upload(from.data(), kFour, 0);
  EXPECT_EQ(downloaded(run(*program, 0, input)[0]), from);
  EXPECT_TRUE(input.is_donated());
  expect_error(ErrorCode::kInvalidArgument,
               "[pjrt] update: LoadedExecutableExecute failed with INVALID_ARGUMENT: input was "
               "donated before",
               [&] { run(*program, 0, input); });
}

TEST(FakeClient, ACompilationsErrorHasTheProgramsNameAndThePluginsWords) {
  FakePlugin fake;
  expect_error(ErrorCode::kInvalidArgument,
               "[pjrt] compiling tower_32: ClientCompile failed with INVALID_ARGUMENT: no such "
               "word: gibberish (plugin \"" +
                   fake.path(),
               [&] { fake.client()->compile("gibberish", {}, "tower_32"); });
  fake.expect_balance();
}

TEST(FakeClient, ProgramsSurviveTheirSerializedForm) {
  FakePlugin fake;
  const auto client = fake.client();
  const std::string bytes = client->compile("copy copy copy", {}, "first")->serialize();
  EXPECT_EQ(bytes, "copy copy copy");
  EXPECT_EQ(fake.living(fake::kSerializedExecutables), 0);
  EXPECT_EQ(client->load(bytes, "second")->output_count(), 3);
}

TEST(FakeClient, AProgramTellsItsMemory) {
  FakePlugin fake;
  const MemoryPlan plan = fake.client()->compile("copy", {}, "p")->memory_plan();
  EXPECT_EQ(plan.code, 1);
  EXPECT_EQ(plan.arguments, 2);
  EXPECT_EQ(plan.outputs, 3);
  EXPECT_EQ(plan.aliased, 4);
  EXPECT_EQ(plan.temporary, 5);
}

// -- lifetimes

TEST(FakeObjects, AreAllDestroyedOnce) {
  FakePlugin fake;
  use_everything(fake.load());
  for (fake::Kind kind : {fake::kClients, fake::kBuffers, fake::kEvents, fake::kExecutables,
                          fake::kLoadedExecutables, fake::kSerializedExecutables})
    EXPECT_GT(fake->created[kind], 0) << kind;
  fake.expect_balance();
}

TEST(FakeObjects, KeepTheirClient) {
  FakePlugin fake;
  const float value = 1;
  auto client = fake.client();
  auto program = client->compile("copy", {}, "p");
  Buffer buffer = client->upload(&value, {}, 0);
  client.reset();
  EXPECT_EQ(fake.living(fake::kClients), 1);
  program.reset();
  EXPECT_EQ(fake.living(fake::kClients), 1);
  buffer = Buffer();
  EXPECT_EQ(fake.living(fake::kClients), 0);
  fake.expect_balance();
}

TEST(FakeObjects, AreMovedNotCopied) {
  FakePlugin fake;
  {
    const auto client = fake.client();
    const Four one{1}, two{2};
    Buffer a = client->upload(one.data(), kFour, 0), b = client->upload(two.data(), kFour, 0);
    Buffer c(std::move(a));
    EXPECT_FALSE(a.valid());
    a = std::move(b);
    EXPECT_EQ(downloaded(a), two);
    EXPECT_EQ(downloaded(c), one);
    Event first = a.ready(), second = c.ready();
    first = std::move(second);
    first.wait("moving");
    first.wait("waiting again");
  }
  fake.expect_balance();
}

/// A failure of any function leaves nothing behind but what its own destruction refused to destroy.
TEST(FakeObjects, AreDestroyedWhateverFails) {
  FakePlugin fake;
  const auto plugin = fake.load();
  const Function functions[] = {Function::kClientCreate,
                                Function::kClientAddressableDevices,
                                Function::kDeviceGetDescription,
                                Function::kDeviceDescriptionKind,
                                Function::kClientPlatformName,
                                Function::kClientPlatformVersion,
                                Function::kClientCompile,
                                Function::kLoadedExecutableGetExecutable,
                                Function::kExecutableNumOutputs,
                                Function::kExecutableSerialize,
                                Function::kExecutableDeserializeAndLoad,
                                Function::kExecutableGetCompiledMemoryStats,
                                Function::kClientBufferFromHostBuffer,
                                Function::kLoadedExecutableExecute,
                                Function::kBufferIsDeleted,
                                Function::kBufferCopyToDevice,
                                Function::kBufferReadyEvent,
                                Function::kEventAwait,
                                Function::kBufferToHostBuffer};
  for (Function function : functions) {
    fake->fault(function).code = abi::kResourceExhausted;
    const Error error = caught([&] { use_everything(plugin); });
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
    fake->fault(function).code = abi::kOk;
    fake.expect_balance();
    ASSERT_FALSE(testing::Test::HasFailure()) << error.what();
  }
  use_everything(plugin);
}

// -- argument structs of other lengths

TEST(FakeSizes, GrowWhereAPluginAsks) {
  FakePlugin fake;
  const auto plugin = fake.load();
  for (const bool is_most : {false, true}) {
#define PJRT_FUNCTION(slot, Name, last_field)  \
  fake->fault(Function::k##Name).wanted_size = \
      is_most ? sizeof(Call<abi::Name##Args>) : abi::FunctionOf<abi::Name##Args>::kSize + 8;
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION
    // The functions that tell of errors are not asked twice.
    fake->fault(Function::kErrorGetCode).wanted_size = 0;
    const int64_t calls = fake->calls_of(Function::kClientCreate);
    use_everything(plugin);
    EXPECT_EQ(fake->calls_of(Function::kClientCreate), calls + 2);
    fake.expect_balance();
  }
}

TEST(FakeSizes, ExecuteOptionsHaveRoomForNewerPlugins) {
  FakePlugin fake;
  fake->wanted_execute_options = 144;  // of PJRT 0.114
  use_everything(fake.load());
  fake.expect_balance();
}

// -- events

TEST(FakeEvents, ThatCompleteLateAreWaitedFor) {
  FakePlugin fake;
  {
    const auto client = fake.client();
    fake->event_delay_milliseconds = 50;
    const Four from{1, 2, 3, 4};
    const Buffer buffer = client->upload(from.data(), kFour, 0);
    Four to{};
    Event event = buffer.download(to.data(), sizeof to);
    event.wait("downloading");
    EXPECT_EQ(to, from);
  }
  fake.expect_balance();
}

TEST(FakeEvents, AreWaitedForWhenDropped) {
  FakePlugin fake;
  const auto client = fake.client();
  fake->event_delay_milliseconds = 50;
  const Four from{1, 2, 3, 4};
  const Buffer buffer = client->upload(from.data(), kFour, 0);
  Four to{};
  { const Event event = buffer.download(to.data(), sizeof to); }
  EXPECT_EQ(to, from);
}

TEST(FakeEvents, BringErrorsOnce) {
  FakePlugin fake;
  for (const int delay : {0, 20}) {
    const auto client = fake.client();
    const Four from{1, 2, 3, 4};
    const Buffer buffer = client->upload(from.data(), kFour, 0);
    fake->event_delay_milliseconds = delay;
    fake->event_code = abi::kResourceExhausted;
    fake->words = "the memory ran out later";
    Four to{};
    Event event = buffer.download(to.data(), sizeof to);
    expect_error(ErrorCode::kOutOfMemory,
                 "[pjrt] training step: EventAwait failed with RESOURCE_EXHAUSTED: the memory ran "
                 "out later (plugin \"" +
                     fake.path(),
                 [&] { event.wait("training step"); });
    EXPECT_NO_THROW(event.wait("training step"));
    EXPECT_EQ(to, Four{});
    { const Event dropped = buffer.ready(); }
    fake->event_code = abi::kOk;
  }
  fake.expect_balance();
}

TEST(FakeEvents, ThatNeverWereNeedNoWaiting) {
  Event event;
  EXPECT_NO_THROW(event.wait("nothing"));
}

// -- endurance

TEST(FakeRuns, OnTwoDevicesFromTwoThreadsDoNotMeet) {
  FakePlugin fake;
  {
    const auto client = fake.client();
    const auto program = client->compile("copy", {}, "p");
    std::vector<std::thread> threads;
    for (int device = 0; device < 2; ++device)
      threads.emplace_back([&, device] {
        for (int i = 0; i < 500; ++i) {
          const Four from{static_cast<float>(i), static_cast<float>(device)};
          const Buffer input = client->borrow(from.data(), kFour, device);
          EXPECT_EQ(downloaded(run(*program, device, input)[0]), from);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  fake.expect_balance();
}

TEST(FakeRuns, TenThousandLeaveNothing) {
  FakePlugin fake;
  {
    const auto client = fake.client();
    const auto program = client->compile("donate", {}, "p");
    const Four from{1, 2, 3, 4};
    for (int i = 0; i < 10'000; ++i)
      ASSERT_EQ(downloaded(run(*program, 0, client->upload(from.data(), kFour, 0))[0]), from);
    EXPECT_EQ(fake.living(fake::kBuffers), 0);
    EXPECT_EQ(fake.living(fake::kEvents), 0);
  }
  EXPECT_EQ(fake->created[fake::kBuffers], 20'000);
  fake.expect_balance();
}

// -- XLA on the processor

constexpr const char* kAdd = R"(module @add {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %sum = stablehlo.add %a, %b : tensor<4xf32>
    return %sum : tensor<4xf32>
  }
})";

/// Takes the first input's memory for its result.
constexpr const char* kDonatingAdd = R"(module @add {
  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32>)
      -> tensor<4xf32> {
    %sum = stablehlo.add %a, %b : tensor<4xf32>
    return %sum : tensor<4xf32>
  }
})";

class XlaCpu : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = find_plugin(*find_plugin_kind("xla_cpu")).path;
    if (path.empty()) GTEST_SKIP() << "no xla_cpu plugin is installed";
    // Loads the plugin as the backend does.
    ASSERT_GT(count_pjrt_devices("xla_cpu"), 0);
    client_ = Client::create(Plugin::load(path), {{"cpu_device_count", int64_t{2}}});
    ASSERT_EQ(client_->device_count(), 2);
  }

  std::shared_ptr<Client> client_;
};

/// a + b through a program.
Four sum(Client& client, const LoadedProgram& program, int device, const Four& a, const Four& b) {
  const Buffer first = client.borrow(a.data(), kFour, device),
               second = client.borrow(b.data(), kFour, device);
  abi::Buffer* const arguments[] = {first.get(), second.get()};
  return downloaded(program.run(device, arguments)[0]);
}

TEST_F(XlaCpu, AddsOnTwoDevicesFromTwoThreads) {
  const auto program = client_->compile(kAdd, {}, "add");
  EXPECT_EQ(program->output_count(), 1);
  std::vector<std::thread> threads;
  for (int device = 0; device < 2; ++device)
    threads.emplace_back([&, device] {
      for (int i = 0; i < 200; ++i) {
        const auto x = static_cast<float>(i), y = static_cast<float>(device);
        EXPECT_EQ(sum(*client_, *program, device, {x, x, x, x}, {1, y, -x, 0}),
                  (Four{x + 1, x + y, 0, x}));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(XlaCpu, TakesADonatedInput) {
  const auto program = client_->compile(kDonatingAdd, {}, "add");
  const Four ones{1, 1, 1, 1}, twos{2, 2, 2, 2};
  const Buffer a = client_->upload(ones.data(), kFour, 0),
               b = client_->upload(twos.data(), kFour, 0);
  abi::Buffer* const arguments[] = {a.get(), b.get()};
  const std::vector<Buffer> results = program->run(0, arguments);
  EXPECT_EQ(downloaded(results[0]), (Four{3, 3, 3, 3}));
  EXPECT_TRUE(a.is_donated());
  EXPECT_FALSE(b.is_donated());
  EXPECT_EQ(ones, (Four{1, 1, 1, 1}));
  EXPECT_THROW(program->run(0, arguments), Error);
}

TEST_F(XlaCpu, SaysWhatIsWrongWithAText) {
  const Error error = caught([&] { client_->compile("module { nonsense }", {}, "tower_32"); });
  // UNKNOWN, says XLA: a text that does not parse is our bug.
  EXPECT_EQ(error.code(), ErrorCode::kInternal) << error.what();
  EXPECT_TRUE(contains(error.what(), "[pjrt] compiling tower_32: ClientCompile failed with "))
      << error.what();
  EXPECT_TRUE(contains(error.what(), "custom op 'nonsense' is unknown")) << error.what();
  EXPECT_TRUE(contains(error.what(), client_->plugin().path())) << error.what();
}

TEST_F(XlaCpu, SaysWhichArgumentIsWrong) {
  const auto program = client_->compile(kAdd, {}, "add");
  const float one = 1;
  const Buffer scalar = client_->upload(&one, {}, 0);
  abi::Buffer* const arguments[] = {scalar.get(), scalar.get()};
  const Error error = caught([&] { program->run(0, arguments); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
  EXPECT_TRUE(contains(error.what(), "[pjrt] add: LoadedExecutableExecute failed with "))
      << error.what();
}

TEST_F(XlaCpu, LoadsWhatItSerialized) {
  const std::string bytes = client_->compile(kAdd, {}, "add")->serialize();
  EXPECT_FALSE(bytes.empty());
  const auto program = client_->load(bytes, "add");
  EXPECT_EQ(sum(*client_, *program, 1, {1, 2, 3, 4}, {1, 1, 1, 1}), (Four{2, 3, 4, 5}));
  EXPECT_EQ(program->memory_plan().outputs, 16);
}

TEST_F(XlaCpu, CopiesBetweenDevices) {
  const Four from{1, 2, 3, 4};
  const Buffer copy = client_->upload(from.data(), kFour, 0).copy_to(1);
  copy.ready().wait("copying");
  EXPECT_EQ(downloaded(copy), from);
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_F(XlaCpu, TenThousandRunsNeedNoMoreMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer keeps freed memory";
#endif
  const auto program = client_->compile(kAdd, {}, "add");
  const auto run_times = [&](int times) {
    for (int i = 0; i < times; ++i) sum(*client_, *program, i % 2, {1, 2, 3, 4}, {1, 1, 1, 1});
  };
  run_times(1'000);
  const int64_t before = resident_bytes();
  run_times(10'000);
  // A leak of one buffer's bookkeeping a run would be more: 10,000 times some hundred bytes.
  EXPECT_LT(resident_bytes() - before, 1 << 20);
}

}  // namespace
}  // namespace lockstep::pjrt
