// Devices of a plugin, programs compiled for them, tensors in their memory. Each object destroys
// what it stands for; all are safe to use from several threads at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/backend/pjrt/compile_options.h"
#include "lockstep/backend/pjrt/program.h"
#include "lockstep/tensor/shape.h"

namespace lockstep::pjrt {

class Client;

/// Something that will have happened. Waits for it at the latest when destroyed.
class Event {
 public:
  Event() = default;
  Event(const Plugin& plugin, abi::Event* event) : plugin_(&plugin), event_(event) {}
  Event(Event&& other) noexcept { swap(other); }
  Event& operator=(Event&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Event();

  /// Returns when it has happened; throws the error that came instead. Does nothing a second time.
  void wait(std::string_view what);

 private:
  void swap(Event& other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(event_, other.event_);
  }
  void destroy() noexcept;

  const Plugin* plugin_ = nullptr;
  abi::Event* event_ = nullptr;
};

/// A tensor in a device's memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Client> client, abi::Buffer* buffer)
      : client_(std::move(client)), buffer_(buffer) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  bool valid() const { return buffer_ != nullptr; }
  abi::Buffer* get() const { return buffer_; }
  /// True once the tensor was given away to a program that took its memory over.
  bool is_donated() const;
  /// Starts to copy to dense row-major host memory of `size_bytes`, which must live until the
  /// event.
  Event download(void* to, size_t size_bytes) const;
  /// A copy in another device's memory.
  Buffer copy_to(int device) const;
  Event ready() const;

 private:
  void swap(Buffer& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(buffer_, other.buffer_);
  }
  std::shared_ptr<Client> client_;
  abi::Buffer* buffer_ = nullptr;
};

/// A program loaded on the devices of a client.
class LoadedProgram {
 public:
  LoadedProgram(std::shared_ptr<Client> client, abi::LoadedExecutable* executable,
                std::string name);
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  /// Queues the program on one device; results may be used at once, they are ready later. Inputs
  /// that the program donates are gone afterwards.
  std::vector<Buffer> run(int device, std::span<abi::Buffer* const> inputs) const;
  size_t output_count() const { return output_count_; }
  const std::string& name() const { return name_; }
  std::string serialize() const { return compiled_->serialize(); }
  MemoryPlan memory_plan() const { return compiled_->memory_plan(); }

 private:
  LoadedProgram(std::shared_ptr<Client> client, abi::LoadedExecutable* executable)
      : client_(std::move(client)), loaded_(executable) {}

  std::shared_ptr<Client> client_;
  abi::LoadedExecutable* loaded_ = nullptr;
  std::unique_ptr<CompiledProgram> compiled_;
  std::string name_;
  size_t output_count_ = 0;
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  static std::shared_ptr<Client> create(std::shared_ptr<Plugin> plugin,
                                        const std::vector<PluginOption>& options);
  ~Client();

  const Plugin& plugin() const { return *plugin_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  abi::Device* device(int index) const { return devices_[static_cast<size_t>(index)]; }
  /// "NVIDIA H200", "cpu".
  std::string device_kind(int index) const;
  std::string platform() const;  // name and version

  /// Compiles StableHLO text. `name` is for messages.
  std::unique_ptr<LoadedProgram> compile(const std::string& text, const ProgramOptions& options,
                                         const std::string& name);
  /// What serialize() of a program for this kind of device and version gave.
  std::unique_ptr<LoadedProgram> load(const std::string& serialized, const std::string& name);

  /// Copies before it returns.
  Buffer upload(const void* from, const TensorType& type, int device);
  /// May read `from`, or on a CPU use it in place, until the buffer and what reads it are gone.
  Buffer borrow(const void* from, const TensorType& type, int device);

 private:
  explicit Client(std::shared_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {}
  Buffer transfer(const void* from, const TensorType& type, int device,
                  abi::HostBufferSemantics semantics);

  std::shared_ptr<Plugin> plugin_;
  abi::Client* client_ = nullptr;
  std::vector<abi::Device*> devices_;

  friend class Buffer;
  friend class LoadedProgram;
};

}  // namespace lockstep::pjrt
