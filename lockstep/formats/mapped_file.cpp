#include "lockstep/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

constexpr size_t kMaxResident = size_t{32} << 20;
/// A page that is not mapped yet comes with those around it that are in the system's cache: Linux's
/// fault_around_bytes.
constexpr size_t kFaultAround = size_t{64} << 10;

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto give_up = [&](int fd, const char* reason) {
    if (fd >= 0) ::close(fd);
    fail(ErrorCode::kNotFound, path.string(), "cannot be read: {}", reason);
  };
  // Without O_NONBLOCK opening a pipe would wait for its other end.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) give_up(fd, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) give_up(fd, "it must be a file");
  size_ = static_cast<size_t>(info.st_size);
  if (size_ > 0) {
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) give_up(fd, std::strerror(errno));
    data_ = static_cast<char*>(data);
    ::madvise(data_, size_, MADV_RANDOM);
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

void MappedFile::will_read(size_t offset, size_t size) const {
  if (size == 0) return;
  // Advice may fail without harm: the pages are then read, or kept, as the system likes.
  if (size_ > kMaxResident && resident_.fetch_add(size + kFaultAround) > kMaxResident) {
    resident_ = 0;
    ::madvise(data_, size_, MADV_DONTNEED);
  }
  static const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset / kPage * kPage, end = offset + size;
  if (end - begin > kPage) ::madvise(data_ + begin, end - begin, MADV_WILLNEED);
}

}  // namespace lockstep
