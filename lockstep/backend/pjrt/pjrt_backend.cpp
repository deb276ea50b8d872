#include "lockstep/backend/pjrt/pjrt_backend.h"

#include <algorithm>
#include <optional>

#include "lockstep/backend/denormals.h"
#include "lockstep/backend/pjrt/kind_settings.h"
#include "lockstep/backend/pjrt/open_devices.h"
#include "lockstep/backend/pjrt/program_store.h"
#include "lockstep/backend/stablehlo/emit.h"
#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

using namespace pjrt;

class PjrtContext : public ExecutionContext {
 public:
  explicit PjrtContext(int device) : device(device) {}
  size_t size_bytes() const override { return 0; }  // the plugin's memory, not ours

  int device;  // of the team
};

/// A program between host memory and host memory: every input goes to the device, every result
/// comes back. Training keeps its tensors on the devices instead (compile_resident).
class PjrtExecutable : public Executable {
 public:
  PjrtExecutable(std::shared_ptr<Client> client, const std::vector<int>& devices,
                 const Graph& graph, const std::string& name, const std::vector<Flag>& flags)
      : client_(std::move(client)), devices_(devices), name_(name) {
    for (int parameter : graph.parameters()) input_types_.push_back(graph.type(parameter));
    for (int result : graph.results()) output_types_.push_back(graph.type(result));
    text_ = emit_stablehlo(graph, {.name = name, .donations = {}});
    program_ = client_->compile(text_, {.replicas = 1, .is_portable = true, .flags = flags}, name);
    LOCKSTEP_CHECK(program_->output_count() == output_types_.size());
  }

  std::unique_ptr<ExecutionContext> create_context(int device) const override {
    return std::make_unique<PjrtContext>(device);
  }

  void run(ExecutionContext& execution_context, std::span<const void* const> inputs,
           std::span<void* const> outputs) const override {
    const auto& context = static_cast<PjrtContext&>(execution_context);
    const int device = devices_[static_cast<size_t>(context.device)];
    std::vector<Buffer> buffers;
    std::vector<abi::Buffer*> arguments;
    for (size_t i = 0; i < input_types_.size(); ++i) {
      buffers.push_back(client_->borrow(inputs[i], input_types_[i], device));
      arguments.push_back(buffers.back().get());
    }
    const std::vector<Buffer> results = program_->run(device, arguments);
    std::vector<Event> downloads;
    for (size_t i = 0; i < results.size(); ++i)
      if (output_types_[i].size() > 0)
        downloads.push_back(results[i].download(outputs[i], output_types_[i].size_bytes()));
    for (Event& download : downloads) download.wait(name_);
  }

  std::string describe() const override { return text_; }

 private:
  std::shared_ptr<Client> client_;
  std::vector<int> devices_;
  std::string name_, text_;
  std::unique_ptr<LoadedProgram> program_;
};

class PjrtTensor : public DeviceTensor {
 public:
  explicit PjrtTensor(Buffer buffer) : buffer(std::move(buffer)) {}
  Buffer buffer;
};

const Buffer& buffer_of(const DeviceTensorPtr& tensor) {
  LOCKSTEP_CHECK(tensor != nullptr);
  return static_cast<const PjrtTensor&>(*tensor).buffer;
}

class PjrtDeviceProgram : public DeviceProgram {
 public:
  PjrtDeviceProgram(std::shared_ptr<const OpenDevices::Program> program,
                    const std::vector<int>& devices)
      : program_(std::move(program)), devices_(devices) {}

  std::vector<DeviceTensorPtr> enqueue(int device,
                                       std::span<const DeviceTensorPtr> inputs) const override {
    std::vector<abi::Buffer*> arguments;
    for (const DeviceTensorPtr& input : inputs) arguments.push_back(buffer_of(input).get());
    std::vector<DeviceTensorPtr> results;
    for (Buffer& buffer : program_->loaded->run(devices_[static_cast<size_t>(device)], arguments))
      results.push_back(std::make_shared<PjrtTensor>(std::move(buffer)));
    return results;
  }
  std::string describe() const override { return program_->text; }

 private:
  std::shared_ptr<const OpenDevices::Program> program_;
  const std::vector<int>& devices_;
};

class PjrtBackend : public Backend, public DeviceMemory {
 public:
  PjrtBackend(const PluginKind& kind, int count, std::vector<int> indices)
      : kind_(kind.kind), devices_(std::move(indices)) {
    if (devices_.empty())
      for (int index = 0; index < count; ++index) devices_.push_back(index);
    const int needed = *std::max_element(devices_.begin(), devices_.end()) + 1;
    open_ = OpenDevices::of(kind);
    client_ = open_->client;
    flags_ = compile_flags(kind_);
    if (needed > client_->device_count())
      fail(ErrorCode::kNotFound, "devices",
           "{} has {} devices, numbered from 0: the device with index {} was asked for ({})", kind_,
           client_->device_count(), needed - 1, client_->plugin().path());
  }

  std::string_view kind() const override { return kind_; }

  std::unique_ptr<Executable> compile(const Graph& graph,
                                      const CompileOptions& options) const override {
    return std::make_unique<PjrtExecutable>(client_, devices_, *simplify(graph), options.name,
                                            flags_);
  }
  void enter_device_thread() const override { flush_denormals(); }
  std::string version() const override {
    return fmt::format("{}, {}, {}", client_->platform(), client_->device_kind(devices_[0]),
                       client_->plugin().description());
  }

  const DeviceMemory* device_memory() const override { return this; }

  void keep_programs(const std::filesystem::path& folder) override { store_.emplace(folder); }

  std::shared_ptr<DeviceProgram> compile_resident(const Graph& graph, const CompileOptions& options,
                                                  std::vector<Donation> donations) const override {
    const std::string text =
        emit_stablehlo(*simplify(graph), {.name = options.name, .donations = std::move(donations)});
    // A folder has all programs of its run, and a run those of its folder.
    const std::string folder = store_ ? store_->folder().string() : "";
    const auto program = open_->programs.get(folder + '\n' + text, [&] {
      const ProgramOptions compile{.replicas = 1, .is_portable = true, .flags = flags_};
      auto loaded = store_ ? store_->get(*client_, text, compile, options.name)
                           : client_->compile(text, compile, options.name);
      return std::make_shared<const OpenDevices::Program>(
          OpenDevices::Program{std::move(loaded), text});
    });
    return std::make_shared<PjrtDeviceProgram>(program, devices_);
  }

  DeviceTensorPtr upload(const void* from, const TensorType& type, int device) const override {
    return std::make_shared<PjrtTensor>(client_->upload(from, type, index(device)));
  }

  DeviceTensorPtr copy(const DeviceTensorPtr& tensor, int device) const override {
    return std::make_shared<PjrtTensor>(buffer_of(tensor).copy_to(index(device)));
  }

  void wait(const DeviceTensorPtr& tensor) const override {
    buffer_of(tensor).ready().wait("waiting for a result");
  }

  void download(std::span<const Download> downloads) const override {
    std::vector<Event> events;
    for (const Download& download : downloads)
      if (download.size_bytes > 0)
        events.push_back(buffer_of(download.tensor).download(download.to, download.size_bytes));
    for (Event& event : events) event.wait("copying results to the host");
  }

 private:
  int index(int device) const { return devices_[static_cast<size_t>(device)]; }

  std::string kind_;
  std::vector<int> devices_;  // the client's, of each device of the team
  std::shared_ptr<OpenDevices> open_;
  std::shared_ptr<Client> client_;
  std::vector<Flag> flags_;
  std::optional<ProgramStore> store_;
};

const PluginKind& known_kind(std::string_view kind) {
  const PluginKind* known = find_plugin_kind(kind);
  LOCKSTEP_CHECK(known != nullptr);
  return *known;
}

}  // namespace

std::unique_ptr<Backend> make_pjrt_backend(std::string_view kind, int count,
                                           const std::vector<int>& indices) {
  return std::make_unique<PjrtBackend>(known_kind(kind), count, indices);
}

int count_pjrt_devices(std::string_view kind) {
  return OpenDevices::of(known_kind(kind))->client->device_count();
}

PjrtKindReport report_pjrt_kind(std::string_view kind) {
  const PluginKind& known = known_kind(kind);
  try {
    const PluginSearch search = find_plugin(known);
    if (search.path.empty())
      return {0, fmt::format("{}: no plugin in {}. {}", known.hardware,
                             fmt::join(search.looked, ", "), known.pip_install)};
    const std::shared_ptr<Client> client = OpenDevices::of(known)->client;
    return {client->device_count(), fmt::format("{}; {}", client->device_kind(0), search.path)};
  } catch (const Error& error) {
    return {0, fmt::format("{}: {}", known.hardware, error.what())};
  }
}

}  // namespace lockstep
