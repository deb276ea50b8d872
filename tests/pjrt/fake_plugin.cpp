// A PJRT plugin without a device: buffers are bytes of the host, and a program is words, one an
// output. The k-th word says what output k is of input k: "copy" or "donate", which takes the
// input's memory over. Counts its objects and misbehaves as its Control says.
#include "tests/pjrt/fake_plugin.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::pjrt::abi {

struct Error {
  ErrorCode code;
  std::string message;
};

struct Event {
  void complete(int with) {
    {
      std::lock_guard lock(mutex);
      is_complete = true;
      code = with;
    }
    completed.notify_all();
  }
  int wait() {
    std::unique_lock lock(mutex);
    completed.wait(lock, [this] { return is_complete; });
    return code;
  }
  std::mutex mutex;
  std::condition_variable completed;
  std::shared_ptr<Event> self;  // shared with the thread that completes it
  bool is_complete = false;
  int code = kOk;
};

struct DeviceDescription {
  std::string kind;
};

struct Device {
  DeviceDescription description;
};

struct Client {
  std::string options;  // as they came
  std::vector<Device> devices;
  std::vector<Device*> pointers;
};

struct Buffer {
  std::vector<std::byte> own;
  const std::byte* data;  // of `own`, or the host's
  size_t size;
  bool is_deleted = false;
};

struct Executable {
  std::string text;
};

struct LoadedExecutable {
  std::string text;
};

struct SerializedExecutable {
  std::string text;
};

struct TopologyDescription {};

}  // namespace lockstep::pjrt::abi

namespace lockstep::pjrt::fake {
namespace {

using namespace abi;

Control control;

// -- objects, of which each is known from its creation to its destruction

struct Living {
  std::mutex mutex;
  std::set<std::pair<Kind, const void*>> objects;
};

Living& living() {
  static auto* const all = new Living;  // destructors of the tests' statics come late
  return *all;
}

template <class Object>
Object* created(Kind kind, Object* object) {
  ++control.created[kind];
  std::lock_guard lock(living().mutex);
  living().objects.insert({kind, object});
  return object;
}

bool is_living(Kind kind, const void* object) {
  std::lock_guard lock(living().mutex);
  if (living().objects.count({kind, object}) > 0) return true;
  ++control.misused;
  return false;
}

/// Counts an object as destroyed; false where it does not live.
bool is_forgotten(Kind kind, const void* object) {
  std::lock_guard lock(living().mutex);
  if (living().objects.erase({kind, object}) == 0) {
    ++control.misused;
    return false;
  }
  ++control.destroyed[kind];
  return true;
}

template <class Object>
Error* destroy(Kind kind, Object* object) {
  if (is_forgotten(kind, object)) delete object;
  return nullptr;
}

Error* error(int code, std::string message) {
  return created(kErrors, new Error{static_cast<ErrorCode>(code), std::move(message)});
}

Error* refuse_misuse() {
  return error(kFailedPrecondition, "the object does not live");
}

Error* refuse_size(const std::string& name, size_t wanted, size_t came) {
  return error(kInvalidArgument,
               "Unexpected PJRT_" + name + " size: expected " + std::to_string(wanted) + ", got " +
                   std::to_string(came) +
                   ". The plugin is likely built with a later version than the framework.");
}

Buffer* new_buffer(const std::byte* data, size_t size) {
  auto* buffer = new Buffer{{data, data + size}, nullptr, size};
  buffer->data = buffer->own.data();
  return created(kBuffers, buffer);
}

/// Completes at once or late, after `work`, which is not done where the event brings an error.
template <class Work>
Event* new_event(Work work) {
  const auto event = std::make_shared<Event>();
  event->self = event;
  const int code = control.event_code, delay = control.event_delay_milliseconds;
  const auto finish = [event, work, code] {
    if (code == kOk) work();
    event->complete(code);
  };
  if (delay == 0)
    finish();
  else
    std::thread([finish, delay] {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      finish();
    }).detach();
  return created(kEvents, event.get());
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

std::string describe(const NamedValue& value) {
  const std::string name = std::string(value.name, value.name_size) + "=";
  switch (value.type) {
    case NamedValue::kString:
      return name + "\"" + std::string(value.string_value, value.value_size) + "\"";
    case NamedValue::kInt64:
      return name + std::to_string(value.int64_value);
    case NamedValue::kFloat:
      return name + std::to_string(value.float_value);
    case NamedValue::kBool:
      return name + (value.bool_value ? "true" : "false");
    default:
      return name + "?";
  }
}

// -- functions

Error* perform(ErrorDestroyArgs& args) {
  return destroy(kErrors, args.error);
}

Error* perform(ErrorMessageArgs& args) {
  if (!is_living(kErrors, args.error)) return nullptr;
  args.message = args.error->message.data();
  args.message_size = args.error->message.size();
  return nullptr;
}

Error* perform(ErrorGetCodeArgs& args) {
  if (!is_living(kErrors, args.error)) return refuse_misuse();
  args.code = args.error->code;
  return nullptr;
}

Error* perform(PluginInitializeArgs&) {
  return nullptr;
}

Error* perform(PluginAttributesArgs& args) {
  static const int64_t version[] = {1, 20, 0};
  static const NamedValue attributes[] = {{.name = "xla_version",
                                           .name_size = 11,
                                           .type = NamedValue::kInt64,
                                           .int64_value = 2,
                                           .value_size = 1},
                                          {.name = "stablehlo_current_version",
                                           .name_size = 25,
                                           .type = NamedValue::kInt64List,
                                           .int64_array_value = version,
                                           .value_size = 3},
                                          {.name = "of_no_interest",
                                           .name_size = 14,
                                           .type = NamedValue::kBool,
                                           .bool_value = true,
                                           .value_size = 1}};
  args.attributes = attributes;
  args.num_attributes = std::size(attributes);
  return nullptr;
}

Error* perform(EventDestroyArgs& args) {
  if (is_forgotten(kEvents, args.event)) args.event->self.reset();
  return nullptr;
}

Error* perform(EventAwaitArgs& args) {
  if (!is_living(kEvents, args.event)) return refuse_misuse();
  const int code = args.event->wait();
  return code == kOk ? nullptr : error(code, control.words);
}

Error* perform(ClientCreateArgs& args) {
  auto* client = new Client;
  int64_t device_count = 2;
  for (size_t i = 0; i < args.num_options; ++i) {
    const NamedValue& option = args.create_options[i];
    client->options += describe(option) + ";";
    if (std::string(option.name, option.name_size) == "device_count")
      device_count = option.int64_value;
  }
  for (int64_t i = 0; i < device_count; ++i)
    client->devices.push_back({{"fake device " + std::to_string(i)}});
  for (Device& device : client->devices) client->pointers.push_back(&device);
  args.client = created(kClients, client);
  return nullptr;
}

Error* perform(ClientDestroyArgs& args) {
  return destroy(kClients, args.client);
}

Error* perform(ClientPlatformNameArgs& args) {
  args.platform_name = "fake";
  args.platform_name_size = 4;
  return nullptr;
}

Error* perform(ClientPlatformVersionArgs& args) {
  if (!is_living(kClients, args.client)) return refuse_misuse();
  args.platform_version = args.client->options.data();
  args.platform_version_size = args.client->options.size();
  return nullptr;
}

Error* perform(ClientAddressableDevicesArgs& args) {
  if (!is_living(kClients, args.client)) return refuse_misuse();
  args.addressable_devices = args.client->pointers.data();
  args.num_addressable_devices = args.client->pointers.size();
  return nullptr;
}

Error* perform(ClientCompileArgs& args) {
  const std::string text(args.program->code, args.program->code_size);
  for (const std::string& word : words(text))
    if (word != "copy" && word != "donate") return error(kInvalidArgument, "no such word: " + word);
  args.executable = created(kLoadedExecutables, new LoadedExecutable{text});
  return nullptr;
}

Error* perform(ClientBufferFromHostBufferArgs& args) {
  size_t size = args.type == kF64 || args.type == kS64   ? 8
                : args.type == kU16                      ? 2
                : args.type == kPred || args.type == kU8 ? 1
                                                         : 4;
  for (size_t i = 0; i < args.num_dims; ++i) size *= static_cast<size_t>(args.dims[i]);
  const auto* data = static_cast<const std::byte*>(args.data);
  if (args.host_buffer_semantics == kImmutableZeroCopy)
    args.buffer = created(kBuffers, new Buffer{{}, data, size});
  else
    args.buffer = new_buffer(data, size);
  args.done_with_host_buffer = new_event([] {});
  return nullptr;
}

Error* perform(DeviceGetDescriptionArgs& args) {
  args.device_description = &args.device->description;
  return nullptr;
}

Error* perform(DeviceDescriptionKindArgs& args) {
  args.device_kind = args.device_description->kind.data();
  args.device_kind_size = args.device_description->kind.size();
  return nullptr;
}

Error* perform(ExecutableDestroyArgs& args) {
  return destroy(kExecutables, args.executable);
}

Error* perform(ExecutableNumOutputsArgs& args) {
  if (!is_living(kExecutables, args.executable)) return refuse_misuse();
  args.num_outputs = words(args.executable->text).size();
  return nullptr;
}

Error* perform(ExecutableOptimizedProgramArgs& args) {
  if (!is_living(kExecutables, args.executable)) return refuse_misuse();
  const std::string& text = args.executable->text;
  if (args.program->code != nullptr) std::memcpy(args.program->code, text.data(), text.size());
  args.program->code_size = text.size();
  return nullptr;
}

Error* perform(ExecutableSerializeArgs& args) {
  if (!is_living(kExecutables, args.executable)) return refuse_misuse();
  auto* serialized =
      created(kSerializedExecutables, new SerializedExecutable{args.executable->text});
  args.serialized_bytes = serialized->text.data();
  args.serialized_bytes_size = serialized->text.size();
  args.serialized_executable = serialized;
  args.serialized_executable_deleter = [](SerializedExecutable* object) {
    destroy(kSerializedExecutables, object);
  };
  return nullptr;
}

Error* perform(LoadedExecutableDestroyArgs& args) {
  return destroy(kLoadedExecutables, args.executable);
}

Error* perform(LoadedExecutableGetExecutableArgs& args) {
  if (!is_living(kLoadedExecutables, args.loaded_executable)) return refuse_misuse();
  args.executable = created(kExecutables, new Executable{args.loaded_executable->text});
  return nullptr;
}

Error* perform(LoadedExecutableExecuteArgs& args) {
  if (args.options->header.struct_size < control.wanted_execute_options)
    return refuse_size("ExecuteOptions", control.wanted_execute_options,
                       args.options->header.struct_size);
  if (!is_living(kLoadedExecutables, args.executable)) return refuse_misuse();
  const std::vector<std::string> outputs = words(args.executable->text);
  if (args.num_devices != 1 || args.num_args < outputs.size())
    return error(kInvalidArgument, "one input for each output");
  for (size_t i = 0; i < args.num_args; ++i) {
    const Buffer* input = args.argument_lists[0][i];
    if (!is_living(kBuffers, input)) return refuse_misuse();
    if (input->is_deleted) return error(kInvalidArgument, "input was donated before");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Buffer* input = args.argument_lists[0][i];
    args.output_lists[0][i] = new_buffer(input->data, input->size);
    if (outputs[i] == "donate") input->is_deleted = true;
  }
  return nullptr;
}

Error* perform(ExecutableDeserializeAndLoadArgs& args) {
  const std::string text(args.serialized_executable, args.serialized_executable_size);
  args.loaded_executable = created(kLoadedExecutables, new LoadedExecutable{text});
  return nullptr;
}

Error* perform(BufferDestroyArgs& args) {
  return destroy(kBuffers, args.buffer);
}

Error* perform(BufferIsDeletedArgs& args) {
  if (!is_living(kBuffers, args.buffer)) return refuse_misuse();
  args.is_deleted = args.buffer->is_deleted;
  return nullptr;
}

Error* perform(BufferCopyToDeviceArgs& args) {
  if (!is_living(kBuffers, args.buffer)) return refuse_misuse();
  args.dst_buffer = new_buffer(args.buffer->data, args.buffer->size);
  return nullptr;
}

Error* perform(BufferToHostBufferArgs& args) {
  if (!is_living(kBuffers, args.src)) return refuse_misuse();
  if (args.dst_size < args.src->size) return error(kInvalidArgument, "no room for the buffer");
  std::vector<std::byte> bytes(args.src->data, args.src->data + args.src->size);
  args.event = new_event(
      [to = args.dst, bytes = std::move(bytes)] { std::memcpy(to, bytes.data(), bytes.size()); });
  return nullptr;
}

Error* perform(BufferReadyEventArgs& args) {
  if (!is_living(kBuffers, args.buffer)) return refuse_misuse();
  args.event = new_event([] {});
  return nullptr;
}

Error* perform(TopologyDescriptionCreateArgs& args) {
  args.topology = created(kTopologies, new TopologyDescription);
  return nullptr;
}

Error* perform(TopologyDescriptionDestroyArgs& args) {
  return destroy(kTopologies, args.topology);
}

Error* perform(CompileArgs& args) {
  args.executable =
      created(kExecutables, new Executable{{args.program->code, args.program->code_size}});
  return nullptr;
}

Error* perform(ExecutableGetCompiledMemoryStatsArgs& args) {
  if (!is_living(kExecutables, args.executable)) return refuse_misuse();
  args.generated_code_size = 1;
  args.argument_size = 2;
  args.output_size = 3;
  args.alias_size = 4;
  args.temp_size = 5;
  return nullptr;
}

// -- the table

template <class Args>
Error* entry(Args* args) {
  constexpr Function kFunction = FunctionOf<Args>::kFunction;
  ++control.calls[static_cast<size_t>(kFunction)];
  const Fault& fault = control.fault(kFunction);
  // For programs that cannot steer it: the position of the function that crashes or hangs.
  const auto is_named = [](const char* variable) {
    const char* position = std::getenv(variable);
    return position != nullptr && std::atoi(position) == static_cast<int>(kFunction);
  };
  if (is_named("LOCKSTEP_FAKE_PLUGIN_CRASHES")) std::abort();
  while (fault.hangs || is_named("LOCKSTEP_FAKE_PLUGIN_HANGS"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const size_t wanted = std::max<size_t>(FunctionOf<Args>::kSize, fault.wanted_size),
               came = args->header.struct_size;
  // The two that read and destroy errors can return none.
  if (kFunction == Function::kErrorDestroy || kFunction == Function::kErrorMessage)
    return perform(*args);
  if (came < wanted)
    return refuse_size(std::string(FunctionOf<Args>::kName) + "_Args", wanted, came);
  if (fault.code != kOk) return error(fault.code, control.words);
  return perform(*args);
}

struct Table {
  Header header;
  Api::Version version;
  void* functions[kTableSize];
};
static_assert(offsetof(Table, functions) == offsetof(Api, functions));

const Table* make_table() {
  static Table table;
  table.header.struct_size = offsetof(Table, functions) + control.table_size * sizeof(void*);
  table.version.header.struct_size = sizeof(Api::Version);
  table.version.major = control.major_version;
  table.version.minor = control.minor_version;
#define PJRT_FUNCTION(slot, Name, last_field)                         \
  table.functions[slot] = control.fault(Function::k##Name).is_missing \
                              ? nullptr                               \
                              : reinterpret_cast<void*>(&entry<Name##Args>);
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION
  return &table;
}

}  // namespace
}  // namespace lockstep::pjrt::fake

extern "C" {

__attribute__((visibility("default"))) const void* GetPjrtApi() {
  return lockstep::pjrt::fake::control.has_no_api ? nullptr : lockstep::pjrt::fake::make_table();
}

__attribute__((visibility("default"))) lockstep::pjrt::fake::Control* lockstep_fake_plugin() {
  return &lockstep::pjrt::fake::control;
}
}
