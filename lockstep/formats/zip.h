// Zip archives in memory, for .keras and .npz. Untrusted input: sizes are bounded before memory is
// taken.
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
  /// when members claim to unpack to more than 1,000 times the archive (or 64 GiB) together, or
  /// when a name comes twice or leads out of the folder it would be unpacked to.
  ZipReader(Bytes bytes, std::string where);
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  const std::vector<ZipMember>& members() const { return members_; }
  bool contains(std::string_view name) const;
  /// Content of a member; DataLoss naming it when it is damaged, NotFound when it is absent. One
  /// thread at a time.
  Bytes read(std::string_view name) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  void add_member(uint64_t index, uint64_t& total);

  Bytes bytes_;
  std::string where_;
  std::unique_ptr<zip, Discard> archive_;
  std::vector<ZipMember> members_;
};

/// An archive of stored (uncompressed) members with a fixed date: equal content gives equal bytes.
class ZipWriter {
 public:
  /// Throws InvalidArgument when the name was added before.
  void add(std::string name, Bytes content);
  Bytes finish();

 private:
  std::vector<std::pair<std::string, Bytes>> members_;
};

}  // namespace lockstep
