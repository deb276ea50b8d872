// Zip archives in memory, for .keras and .npz. Untrusted input: sizes are bounded before memory is taken.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/formats/files.h"

struct zip;

namespace lockstep {

struct ZipMember {
  std::string name;
  uint64_t size_bytes;  // unpacked
};

class ZipReader {
 public:
  /// `where` names the file in messages. Throws DataLoss when the bytes are no sound archive, or
  /// when members claim to unpack to more than 1,000 times the archive (or 64 GiB) together.
  ZipReader(Bytes bytes, std::string where);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  const std::vector<ZipMember>& members() const { return members_; }
  bool contains(std::string_view name) const;
  /// Content of a member; DataLoss naming it when it is damaged, NotFound when it is absent.
  Bytes read(std::string_view name) const;

 private:
  Bytes bytes_;
  std::string where_;
  zip* archive_ = nullptr;
  std::vector<ZipMember> members_;
};

/// An archive of stored (uncompressed) members with a fixed date: equal content gives equal bytes.
class ZipWriter {
 public:
  void add(std::string name, Bytes content);
  Bytes finish();

 private:
  std::vector<std::pair<std::string, Bytes>> members_;
};

}  // namespace lockstep
