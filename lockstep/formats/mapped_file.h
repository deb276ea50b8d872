// A file larger than memory, read where it lies.
#pragma once

#include <atomic>
#include <filesystem>
#include <string_view>

namespace lockstep {

/// A file's bytes, mapped for reading in any order.
///
/// The file must not shrink while it is mapped: reading a page that is no longer there kills the
/// process with SIGBUS, and no check made before can prevent it. A file that is replaced (renamed
/// over, or removed) is harmless: the mapping keeps the old one. Whether a change of its bytes is
/// seen is left open.
class MappedFile {
 public:
  /// Throws NotFound naming the path and the reason when it is no file that can be mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// The whole file, as long as it was when it was mapped.
  std::string_view bytes() const { return {data_, size_}; }

  /// Says that [offset, offset + size), which must lie in the file, is read next. It is fetched
  /// from the disk at once and not page by page, and every now and then pages read before are given
  /// back to the system's cache, so that at most about 32 MiB of the file (or one such range) count
  /// as this process's memory. May be called from several threads, also while others read.
  void will_read(size_t offset, size_t size) const;

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  mutable std::atomic<size_t> resident_{0};  // bytes, estimated
};

}  // namespace lockstep
