#include "lockstep/formats/files.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep {
namespace {

/// Closes the descriptor at the end of its scope.
class Descriptor {
 public:
  Descriptor(const char* path, int flags) : fd_(::open(path, flags | O_CLOEXEC, 0644)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// Closing can fail with what an earlier write could not tell.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

bool try_sync_folder(const std::filesystem::path& folder) {
  const Descriptor fd(folder.c_str(), O_RDONLY | O_DIRECTORY);
  return fd.get() >= 0 && ::fsync(fd.get()) == 0;
}

/// Beside `path`, and no other thread's or process's.
std::string temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}.{}-{}.tmp", path.string(), ::getpid(), count++);
}

}  // namespace

Bytes read_file(const std::filesystem::path& path, uint64_t max_bytes) {
  const Descriptor fd(path.c_str(), O_RDONLY);
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0)
    fail(ErrorCode::kNotFound, path.string(), "cannot be read: {}", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::kNotFound, path.string(), "must be a file");
  if (static_cast<uint64_t>(info.st_size) > max_bytes)
    invalid_argument(path.string(), "must have at most {} bytes: {}", max_bytes, info.st_size);
  Bytes bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      fail(ErrorCode::kNotFound, path.string(), "cannot be read: {}", std::strerror(errno));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void write_file_atomically(const std::filesystem::path& named, std::string_view bytes) {
  std::error_code error;
  const bool is_link = std::filesystem::is_symlink(named, error);
  const std::filesystem::path path =
      is_link ? std::filesystem::weakly_canonical(named, error) : named;
  if (const auto status = std::filesystem::status(path, error); std::filesystem::is_other(status)) {
    const Descriptor fd(path.c_str(), O_WRONLY);
    if (fd.get() < 0 || !write_all(fd.get(), bytes))
      invalid_argument(path.string(), "cannot be written: {}", std::strerror(errno));
    return;
  }
  const std::string temporary = temporary_name(path);
  const auto give_up = [&](const char* what) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    fail(ErrorCode::kInvalidArgument, path.string(), "cannot be {}: {}", what,
         std::strerror(reason));
  };
  Descriptor fd(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  if (fd.get() < 0) give_up("created");
  if (!write_all(fd.get(), bytes) || ::fsync(fd.get()) != 0 || !fd.close()) give_up("written");
  if (::rename(temporary.c_str(), path.c_str()) != 0) give_up("renamed into place");
  if (!try_sync_folder(folder_of(path))) give_up("made durable");
}

bool create_file(const std::filesystem::path& path, std::string_view bytes) {
  Descriptor fd(path.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (fd.get() < 0 && errno == EEXIST) return false;
  if (fd.get() < 0) invalid_argument(path.string(), "cannot be created: {}", std::strerror(errno));
  if (!write_all(fd.get(), bytes) || !fd.close()) {
    const int reason = errno;
    ::unlink(path.c_str());
    invalid_argument(path.string(), "cannot be written: {}", std::strerror(reason));
  }
  return true;
}

void append_to_file(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor fd(path.c_str(), O_WRONLY | O_APPEND);
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0)
    fail(ErrorCode::kNotFound, path.string(), "cannot be opened: {}", std::strerror(errno));
  if (write_all(fd.get(), bytes)) return;
  const int reason = errno;
  const bool is_cut = ::ftruncate(fd.get(), info.st_size) == 0;
  invalid_argument(path.string(), "cannot be written: {}{}", std::strerror(reason),
                   is_cut ? "" : ". Its end is half written now");
}

void sync_file(const std::filesystem::path& path) {
  const Descriptor fd(path.c_str(), O_WRONLY);
  if (fd.get() < 0 || ::fsync(fd.get()) != 0)
    invalid_argument(path.string(), "cannot be made durable: {}", std::strerror(errno));
}

void cut_file(const std::filesystem::path& path, uint64_t bytes) {
  const Descriptor fd(path.c_str(), O_WRONLY);
  if (fd.get() < 0 || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fsync(fd.get()) != 0)
    invalid_argument(path.string(), "cannot be cut to {} bytes: {}", bytes, std::strerror(errno));
}

void write_new_file(const std::filesystem::path& path, std::string_view bytes) {
  Descriptor fd(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  if (fd.get() < 0 || !write_all(fd.get(), bytes) || ::fsync(fd.get()) != 0 || !fd.close())
    invalid_argument(path.string(), "cannot be written: {}", std::strerror(errno));
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::is_directory(path, error)) return;
  if (std::filesystem::exists(path, error))
    invalid_argument(path.string(), "the folder cannot be made: a file is there");
  const auto above = folder_of(path);
  if (above != path) make_folder(above);
  std::filesystem::create_directory(path, error);
  if (error) invalid_argument(path.string(), "the folder cannot be made: {}", error.message());
  sync_folder(above);
}

void sync_folder(const std::filesystem::path& folder) {
  if (!try_sync_folder(folder))
    invalid_argument(folder.string(), "cannot be made durable: {}", std::strerror(errno));
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    invalid_argument(from.string(), "cannot be renamed to {}: {}", to.string(),
                     std::strerror(errno));
  sync_folder(folder_of(to));
}

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  LOCKSTEP_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace lockstep
