// The part of the PJRT C ABI that Lockstep calls, declared here so that building needs no download.
// Source of the facts: openxla/xla, xla/pjrt/c/pjrt_c_api.h (minor versions 57 to 116).
//
// Rules of the ABI: every argument struct starts with its own size; a plugin refuses one that is
// smaller than it knows and takes a larger one, whose tail it does not read. New minor versions
// append functions and fields, they move none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::pjrt::abi {

// Owned by the plugin; told apart by type alone.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct MemoryLayout;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct SerializedExecutable;
struct TopologyDescription;

constexpr int kMajorVersion = 0, kOldestMinor = 57;

enum ErrorCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

enum BufferType : int {
  kPred = 1,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kF32 = 11,
  kF64 = 12,
};

enum HostBufferSemantics : int {
  kImmutableOnlyDuringCall = 0,
  kImmutableUntilTransferCompletes = 1,
  kImmutableZeroCopy = 2,
};

struct Header {
  size_t struct_size;
  void* extension_start;
};

struct NamedValue {
  Header header;
  const char* name;
  size_t name_size;
  enum Type : int { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 } type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};

struct Program {
  Header header;
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};

struct ExecuteOptions {
  Header header;
  void** send_callbacks;
  void** recv_callbacks;
  size_t num_send_ops, num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  void* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
};

// -- arguments, one struct a function

struct ErrorDestroyArgs {
  Header header;
  Error* error;
};
struct ErrorMessageArgs {
  Header header;
  const Error* error;
  const char* message;
  size_t message_size;
};
struct ErrorGetCodeArgs {
  Header header;
  const Error* error;
  ErrorCode code;
};
struct PluginInitializeArgs {
  Header header;
};
struct PluginAttributesArgs {
  Header header;
  const NamedValue* attributes;
  size_t num_attributes;
};
struct EventDestroyArgs {
  Header header;
  Event* event;
};
struct EventAwaitArgs {
  Header header;
  Event* event;
};
struct ClientCreateArgs {
  Header header;
  const NamedValue* create_options;
  size_t num_options;
  void* kv_get_callback;
  void* kv_get_user_arg;
  void* kv_put_callback;
  void* kv_put_user_arg;
  Client* client;  // out
  void* kv_try_get_callback;
  void* kv_try_get_user_arg;
};
struct ClientDestroyArgs {
  Header header;
  Client* client;
};
struct ClientPlatformNameArgs {
  Header header;
  Client* client;
  const char* platform_name;
  size_t platform_name_size;
};
struct ClientPlatformVersionArgs {
  Header header;
  Client* client;
  const char* platform_version;
  size_t platform_version_size;
};
struct ClientAddressableDevicesArgs {
  Header header;
  Client* client;
  Device* const* addressable_devices;
  size_t num_addressable_devices;
};
struct ClientCompileArgs {
  Header header;
  Client* client;
  const Program* program;
  const char* compile_options;
  size_t compile_options_size;
  LoadedExecutable* executable;  // out
};
struct ClientBufferFromHostBufferArgs {
  Header header;
  Client* client;
  const void* data;
  BufferType type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  HostBufferSemantics host_buffer_semantics;
  Device* device;
  Memory* memory;
  MemoryLayout* device_layout;
  Event* done_with_host_buffer;  // out
  Buffer* buffer;                // out
};
struct DeviceGetDescriptionArgs {
  Header header;
  Device* device;
  DeviceDescription* device_description;  // out
};
struct DeviceDescriptionKindArgs {
  Header header;
  DeviceDescription* device_description;
  const char* device_kind;
  size_t device_kind_size;
};
struct ExecutableDestroyArgs {
  Header header;
  Executable* executable;
};
struct ExecutableNumOutputsArgs {
  Header header;
  Executable* executable;
  size_t num_outputs;
};
struct ExecutableOptimizedProgramArgs {
  Header header;
  Executable* executable;
  Program* program;  // called twice: for the size, then for the text
};
struct ExecutableSerializeArgs {
  Header header;
  const Executable* executable;
  const char* serialized_bytes;  // live as long as serialized_executable
  size_t serialized_bytes_size;
  SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(SerializedExecutable*);
};
struct ExecutableGetCompiledMemoryStatsArgs {
  Header header;
  Executable* executable;
  int64_t generated_code_size, argument_size, output_size, alias_size, temp_size;
  int64_t host_generated_code_size, host_argument_size, host_output_size, host_alias_size,
      host_temp_size;
};
struct LoadedExecutableDestroyArgs {
  Header header;
  LoadedExecutable* executable;
};
struct LoadedExecutableGetExecutableArgs {
  Header header;
  LoadedExecutable* loaded_executable;
  Executable* executable;  // out
};
struct LoadedExecutableExecuteArgs {
  Header header;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* argument_lists;  // [num_devices][num_args]
  size_t num_devices, num_args;
  Buffer** const* output_lists;  // [num_devices][outputs]
  Event** device_complete_events;
  Device* execute_device;
};
struct ExecutableDeserializeAndLoadArgs {
  Header header;
  Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  LoadedExecutable* loaded_executable;  // out
  const char* overridden_compile_options;
  size_t overridden_compile_options_size;
};
struct BufferDestroyArgs {
  Header header;
  Buffer* buffer;
};
struct BufferIsDeletedArgs {
  Header header;
  Buffer* buffer;
  bool is_deleted;
};
struct BufferCopyToDeviceArgs {
  Header header;
  Buffer* buffer;
  Device* dst_device;
  Buffer* dst_buffer;  // out
};
struct BufferToHostBufferArgs {
  Header header;
  Buffer* src;
  MemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  Event* event;  // out
};
struct BufferReadyEventArgs {
  Header header;
  Buffer* buffer;
  Event* event;  // out
};
struct TopologyDescriptionCreateArgs {
  Header header;
  const char* topology_name;
  size_t topology_name_size;
  const NamedValue* create_options;
  size_t num_options;
  TopologyDescription* topology;  // out
};
struct TopologyDescriptionDestroyArgs {
  Header header;
  TopologyDescription* topology;
};
struct CompileArgs {
  Header header;
  const TopologyDescription* topology;
  const Program* program;
  const char* compile_options;
  size_t compile_options_size;
  Client* client;          // null: compile for a chip that is not here
  Executable* executable;  // out
};

/// What a plugin's GetPjrtApi() returns; `functions` goes on to struct_size.
struct Api {
  Header header;
  struct Version {
    Header header;
    int major, minor;
  } version;
  void* functions[1];
};

/// Positions in Api::functions, and the last field of each function's arguments: what ends there is
/// the size that the oldest plugins expect.
enum class Function : size_t {
#define PJRT_FUNCTION(slot, Name, last_field) k##Name = slot,
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION
};

template <class Args>
struct FunctionOf;
#define PJRT_FUNCTION(slot, Name, last_field)                              \
  template <>                                                              \
  struct FunctionOf<Name##Args> {                                          \
    static constexpr Function kFunction = Function::k##Name;               \
    static constexpr const char* kName = #Name;                            \
    static constexpr size_t kSize =                                        \
        offsetof(Name##Args, last_field) + sizeof(Name##Args::last_field); \
  };
#include "lockstep/backend/pjrt/functions.def"
#undef PJRT_FUNCTION

}  // namespace lockstep::pjrt::abi
