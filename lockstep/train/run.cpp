#include "lockstep/train/run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "lockstep/formats/hdf5.h"
#include "lockstep/io/checkpoint.h"

namespace lockstep {
namespace {

constexpr std::string_view kTensors = "tensors.h5";

std::string model_file(const std::string& name) {
  return name + ".keras";
}

/// CPU seconds of the calling thread.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Everything a checkpoint holds, with values of its own.
struct RunSnapshot {
  int64_t step = 0;
  Json state;
  std::map<std::string, ModelSnapshot> models;
  std::map<std::string, HostTensor> tensors;
};

Checkpoint encode(RunSnapshot snapshot) {
  Checkpoint checkpoint{snapshot.step, std::move(snapshot.state)};
  for (const auto& [name, model] : snapshot.models)
    checkpoint.files[model_file(name)] = keras_file_bytes(model);
  if (!snapshot.tensors.empty()) {
    Hdf5Writer h5;
    for (auto& [path, tensor] : snapshot.tensors) h5.add_dataset(path, std::move(tensor));
    checkpoint.files[std::string(kTensors)] = h5.finish();
  }
  return checkpoint;
}

void read_tensors(const Hdf5Reader& h5, const std::string& group,
                  std::map<std::string, HostTensor>& tensors) {
  for (const std::string& name : h5.list(group)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    if (h5.has_group(path))
      read_tensors(h5, path, tensors);
    else
      tensors[path] = h5.read(path);
  }
}

}  // namespace

// -- one process at a time

class Run::Lock {
 public:
  explicit Lock(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / "lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) invalid_argument(path.string(), "cannot be created: {}", std::strerror(errno));
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    const int reason = errno;
    ::close(fd_);
    // Some network folders know no locks.
    if (reason == EWOULDBLOCK)
      invalid_argument(folder.string(), "another process is training in this run folder");
    fd_ = -1;
  }
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

// -- the thread that writes

class Run::Writer {
 public:
  Writer(std::filesystem::path folder, int64_t keep, std::function<void(std::string_view)> log)
      : folder_(std::move(folder)),
        keep_(keep),
        log_(std::move(log)),
        thread_([this] { work(); }) {}
  ~Writer() {
    wait();
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Waits for the one before.
  void submit(RunSnapshot snapshot) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !next_ && !is_writing_; });
    next_ = std::move(snapshot);
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !next_ && !is_writing_; });
  }
  /// Rethrows, once, why the newest checkpoint could not be written.
  void throw_failure() {
    std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  double seconds() const { return seconds_.load(); }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return next_ || is_stopping_; });
      if (!next_) return;
      RunSnapshot snapshot = std::move(*next_);
      next_.reset();
      is_writing_ = true;
      lock.unlock();
      std::exception_ptr failure = write(std::move(snapshot));
      seconds_ = thread_seconds();
      lock.lock();
      failure_ = failure;
      is_writing_ = false;
      changed_.notify_all();
    }
  }

  std::exception_ptr write(RunSnapshot snapshot) {
    const int64_t step = snapshot.step;
    try {
      write_checkpoint(folder_, encode(std::move(snapshot)));
      remove_old_checkpoints(folder_, step, keep_);
      return nullptr;
    } catch (const std::exception& error) {
      log_(fmt::format("The checkpoint of step {} could not be written: {}", step, error.what()));
      return std::current_exception();
    }
  }

  std::filesystem::path folder_;
  int64_t keep_;
  std::function<void(std::string_view)> log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<RunSnapshot> next_;
  bool is_writing_ = false, is_stopping_ = false;
  std::exception_ptr failure_;
  std::atomic<double> seconds_{0};
  std::thread thread_;
};

// -- the run

Run::Run(std::filesystem::path folder, RunOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (options_.keep < 1) invalid_argument("keep", "must be >= 1: {}", options_.keep);
  make_folder(folder_ / "checkpoints");
  lock_ = std::make_unique<Lock>(folder_);
  writer_ = std::make_unique<Writer>(folder_ / "checkpoints", options_.keep,
                                     [this](std::string_view line) { log(line); });
}

Run::~Run() = default;

void Run::log(std::string_view line) const {
  if (options_.sink)
    options_.sink(line);
  else
    trace(line);
}

void Run::add(const std::string& name, Model& model) {
  if (name.empty() || name.find('/') != std::string::npos || name[0] == '.')
    invalid_argument("run", "a model's name must be a file name: \"{}\"", name);
  models_[name] = &model;
}

bool Run::has_checkpoints() const {
  return !list_checkpoints(folder_ / "checkpoints").empty();
}

bool Run::resume(const Check& check) {
  writer_->wait();
  LatestCheckpoint latest = read_latest_checkpoint(folder_ / "checkpoints");
  for (const std::string& message : latest.damaged)
    log(fmt::format("Passing over a damaged checkpoint: {}", message));
  if (!latest.checkpoint && !latest.damaged.empty())
    fail(ErrorCode::kDataLoss, folder_.string(),
         "none of the {} checkpoints is whole. Another run folder starts afresh",
         latest.damaged.size());
  if (!latest.checkpoint) return false;
  Checkpoint& checkpoint = *latest.checkpoint;
  const std::string where = (folder_ / "checkpoints" / checkpoint_name(checkpoint.step)).string();
  std::map<std::string, KerasFile> files;
  for (const auto& [name, model] : models_) {
    const auto file = checkpoint.files.find(model_file(name));
    if (file == checkpoint.files.end())
      invalid_argument(where, "must hold the model \"{}\": there is no {}", name, model_file(name));
    files.emplace(name, parse_keras_file(std::move(file->second), where + "/" + file->first));
  }
  std::map<std::string, HostTensor> tensors;
  if (const auto file = checkpoint.files.find(std::string(kTensors));
      file != checkpoint.files.end())
    read_tensors(Hdf5Reader(std::move(file->second), where + "/" + std::string(kTensors)), "",
                 tensors);
  std::map<std::string, int64_t> counters;
  Json state;
  checked_json(where, [&] {
    for (const auto& [name, value] : checkpoint.state.at("counters").items())
      counters[name] = value.get<int64_t>();
    state = checkpoint.state.at("state");
  });
  if (check) check(state, files);
  for (const auto& [name, file] : files)
    models_.at(name)->check_same_network(*file.network, where + "/" + model_file(name));
  for (const auto& path : latest.damaged_paths) set_aside(path);
  remove_old_checkpoints(folder_ / "checkpoints", checkpoint.step, options_.keep);
  for (auto& [name, file] : files) models_.at(name)->restore(std::move(file));
  // References to counters that were handed out stay valid.
  for (const auto& [name, value] : counters) counters_[name] = value;
  state_ = std::move(state);
  tensors_ = std::move(tensors);
  return true;
}

void Run::checkpoint(int64_t step) {
  const double start = monotonic_seconds();
  RunSnapshot snapshot;
  snapshot.step = step;
  snapshot.state["counters"] = Json::object();
  for (const auto& [name, value] : counters_) snapshot.state["counters"][name] = value;
  snapshot.state["state"] = state_;
  for (const auto& [name, model] : models_) snapshot.models.emplace(name, model->snapshot());
  snapshot.tensors = tensors_;
  writer_->submit(std::move(snapshot));
  blocked_seconds_ += monotonic_seconds() - start;
}

void Run::finish() {
  const double start = monotonic_seconds();
  writer_->wait();
  blocked_seconds_ += monotonic_seconds() - start;
  writer_->throw_failure();
}

const HostTensor& Run::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    fail(ErrorCode::kDataLoss, folder_.string(), "its checkpoint must hold the tensor {}", name);
  return found->second;
}

double Run::writer_seconds() const {
  return writer_->seconds();
}

}  // namespace lockstep
