#include "lockstep/backend/pjrt/client.h"

#include <algorithm>

#include "lockstep/base/log.h"

namespace lockstep::pjrt {
namespace {

abi::BufferType buffer_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return abi::kF32;
    case DType::kF64:
      return abi::kF64;
    case DType::kS32:
      return abi::kS32;
    case DType::kS64:
      return abi::kS64;
    case DType::kU8:
      return abi::kU8;
    case DType::kU16:
      return abi::kU16;
    case DType::kU32:
      return abi::kU32;
    case DType::kBool:
      return abi::kPred;
  }
  check_failed("every dtype has a buffer type", __FILE__, __LINE__);
}

}  // namespace

// -- events

Event::~Event() {
  if (event_ == nullptr) return;
  // What it stands for may still read or write memory that goes away now.
  Call<abi::EventAwaitArgs> await;
  await->event = event_;
  plugin_->call_quietly(await);
  destroy();
}

void Event::destroy() noexcept {
  Call<abi::EventDestroyArgs> args;
  args->event = event_;
  plugin_->call_quietly(args);
  event_ = nullptr;
}

void Event::wait(std::string_view what) {
  if (event_ == nullptr) return;
  Call<abi::EventAwaitArgs> await;
  await->event = event_;
  try {
    plugin_->call(await, what);
  } catch (...) {
    destroy();
    throw;
  }
  destroy();
}

// -- buffers

Buffer::~Buffer() {
  if (buffer_ == nullptr) return;
  Call<abi::BufferDestroyArgs> args;
  args->buffer = buffer_;
  client_->plugin().call_quietly(args);
}

bool Buffer::is_donated() const {
  Call<abi::BufferIsDeletedArgs> args;
  args->buffer = buffer_;
  client_->plugin().call(args, "asking for a buffer");
  return args->is_deleted;
}

Event Buffer::download(void* to, size_t size_bytes) const {
  Call<abi::BufferToHostBufferArgs> args;
  args->src = buffer_;
  args->dst = to;
  args->dst_size = size_bytes;
  client_->plugin().call(args, "copying a result to the host");
  return {client_->plugin(), args->event};
}

Buffer Buffer::copy_to(int device) const {
  Call<abi::BufferCopyToDeviceArgs> args;
  args->buffer = buffer_;
  args->dst_device = client_->device(device);
  client_->plugin().call(args, "copying between devices");
  return {client_, args->dst_buffer};
}

Event Buffer::ready() const {
  Call<abi::BufferReadyEventArgs> args;
  args->buffer = buffer_;
  client_->plugin().call(args, "asking for a buffer");
  return {client_->plugin(), args->event};
}

// -- programs

// Delegates, so that the destructor runs when a call below throws.
LoadedProgram::LoadedProgram(std::shared_ptr<Client> client, abi::LoadedExecutable* executable,
                             std::string name)
    : LoadedProgram(std::move(client), executable) {
  name_ = std::move(name);
  Call<abi::LoadedExecutableGetExecutableArgs> get;
  get->loaded_executable = loaded_;
  client_->plugin().call(get, name_);
  compiled_ = std::make_unique<CompiledProgram>(client_->plugin().shared_from_this(),
                                                get->executable, name_);
  output_count_ = compiled_->output_count();
}

LoadedProgram::~LoadedProgram() {
  compiled_.reset();
  Call<abi::LoadedExecutableDestroyArgs> args;
  args->executable = loaded_;
  client_->plugin().call_quietly(args);
}

std::vector<Buffer> LoadedProgram::run(int device, std::span<abi::Buffer* const> inputs) const {
  Call<abi::ExecuteOptions> options;
  // All the room: newer plugins refuse shorter options, and no retry makes these longer.
  options->header.struct_size = sizeof options;
  std::vector<abi::Buffer*> raw(output_count_, nullptr);
  abi::Buffer* const* const argument_list = inputs.data();
  abi::Buffer** const output_list = raw.data();
  Call<abi::LoadedExecutableExecuteArgs> args;
  args->executable = loaded_;
  args->options = &options.args;
  args->argument_lists = &argument_list;
  args->num_devices = 1;
  args->num_args = inputs.size();
  args->output_lists = &output_list;
  args->execute_device = client_->device(device);
  client_->plugin().call(args, name_);
  std::vector<Buffer> outputs;
  for (abi::Buffer* buffer : raw) outputs.emplace_back(client_, buffer);
  return outputs;
}

// -- clients

std::shared_ptr<Client> Client::create(std::shared_ptr<Plugin> plugin,
                                       const std::vector<PluginOption>& options) {
  std::shared_ptr<Client> client(new Client(std::move(plugin)));
  const std::vector<abi::NamedValue> values = named_values(options);
  Call<abi::ClientCreateArgs> create;
  create->create_options = values.data();
  create->num_options = values.size();
  client->plugin_->call(create, "opening the devices");
  client->client_ = create->client;
  Call<abi::ClientAddressableDevicesArgs> devices;
  devices->client = client->client_;
  client->plugin_->call(devices, "listing the devices");
  client->devices_.assign(devices->addressable_devices,
                          devices->addressable_devices + devices->num_addressable_devices);
  return client;
}

Client::~Client() {
  if (client_ == nullptr) return;
  Call<abi::ClientDestroyArgs> args;
  args->client = client_;
  plugin_->call_quietly(args);
}

std::string Client::device_kind(int index) const {
  Call<abi::DeviceGetDescriptionArgs> get;
  get->device = device(index);
  plugin_->call(get, "describing a device");
  Call<abi::DeviceDescriptionKindArgs> kind;
  kind->device_description = get->device_description;
  plugin_->call(kind, "describing a device");
  return {kind->device_kind, kind->device_kind_size};
}

std::string Client::platform() const {
  Call<abi::ClientPlatformNameArgs> name;
  name->client = client_;
  plugin_->call(name, "naming the platform");
  Call<abi::ClientPlatformVersionArgs> version;
  version->client = client_;
  plugin_->call(version, "naming the platform");
  return fmt::format("{} {}", std::string_view(name->platform_name, name->platform_name_size),
                     std::string_view(version->platform_version, version->platform_version_size));
}

std::unique_ptr<LoadedProgram> Client::compile(const std::string& text,
                                               const ProgramOptions& options,
                                               const std::string& name) {
  const double start = monotonic_seconds();
  ProgramText program(text);
  const std::string serialized = pjrt::serialize(options);
  Call<abi::ClientCompileArgs> args;
  args->client = client_;
  args->program = program.get();
  args->compile_options = serialized.data();
  args->compile_options_size = serialized.size();
  plugin_->call(args, fmt::format("compiling {}", name));
  if (verbose_level() > 0)
    trace(fmt::format("pjrt: compiled {} in {:.3f} s", name, monotonic_seconds() - start));
  return std::make_unique<LoadedProgram>(shared_from_this(), args->executable, name);
}

std::unique_ptr<LoadedProgram> Client::load(const std::string& serialized,
                                            const std::string& name) {
  Call<abi::ExecutableDeserializeAndLoadArgs> args;
  args->client = client_;
  args->serialized_executable = serialized.data();
  args->serialized_executable_size = serialized.size();
  plugin_->call(args, fmt::format("loading {}", name));
  return std::make_unique<LoadedProgram>(shared_from_this(), args->loaded_executable, name);
}

Buffer Client::upload(const void* from, const TensorType& type, int device) {
  return transfer(from, type, device, abi::kImmutableOnlyDuringCall);
}

Buffer Client::borrow(const void* from, const TensorType& type, int device) {
  return transfer(from, type, device, abi::kImmutableZeroCopy);
}

Buffer Client::transfer(const void* from, const TensorType& type, int device,
                        abi::HostBufferSemantics semantics) {
  Call<abi::ClientBufferFromHostBufferArgs> args;
  args->client = client_;
  args->data = from;
  args->type = buffer_type(type.dtype);
  args->dims = type.shape.dims().data();
  args->num_dims = type.shape.dims().size();
  args->host_buffer_semantics = semantics;
  args->device = this->device(device);
  plugin_->call(args, "copying to a device");
  Buffer buffer(shared_from_this(), args->buffer);
  // The host memory outlives the buffer by contract: nobody waits for this event.
  if (args->done_with_host_buffer != nullptr) {
    Call<abi::EventDestroyArgs> destroy;
    destroy->event = args->done_with_host_buffer;
    plugin_->call_quietly(destroy);
  }
  return buffer;
}

}  // namespace lockstep::pjrt
