#include "lockstep/formats/zip.h"

#include <zip.h>

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

constexpr uint64_t kMaxUnpacked = uint64_t{1} << 36;
constexpr uint64_t kMaxRatio = 1000;

std::string message_of(const zip_error_t& error) {
  zip_error_t copy = error;
  return zip_error_strerror(&copy);
}

}  // namespace

ZipReader::ZipReader(Bytes bytes, std::string where) : bytes_(std::move(bytes)), where_(std::move(where)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error);
  if (source != nullptr) archive_ = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (archive_ == nullptr) {
    if (source != nullptr) zip_source_free(source);
    fail(ErrorCode::kDataLoss, where_, "must be a zip archive: {}", message_of(error));
  }
  const uint64_t limit = std::min(kMaxUnpacked, std::max<uint64_t>(bytes_.size(), 1024) * kMaxRatio);
  uint64_t total = 0;
  const auto refuse = [&](const std::string& why) {
    zip_discard(archive_);
    fail(ErrorCode::kDataLoss, where_, "{}", why);
  };
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive_, 0); ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive_, static_cast<zip_uint64_t>(i), 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME) || !(stat.valid & ZIP_STAT_SIZE))
      refuse(fmt::format("member {} has no name or size", i));
    if (stat.size > limit - total)
      refuse(fmt::format("members must unpack to at most {} bytes: \"{}\" claims {}", limit, stat.name, stat.size));
    total += stat.size;
    members_.push_back({stat.name, stat.size});
  }
}

ZipReader::~ZipReader() { zip_discard(archive_); }

bool ZipReader::contains(std::string_view name) const {
  return std::any_of(members_.begin(), members_.end(), [&](const ZipMember& m) { return m.name == name; });
}

Bytes ZipReader::read(std::string_view name) const {
  const auto it = std::find_if(members_.begin(), members_.end(), [&](const ZipMember& m) { return m.name == name; });
  if (it == members_.end()) fail(ErrorCode::kNotFound, where_, "the archive must hold \"{}\"", name);
  zip_file_t* file = zip_fopen_index(archive_, static_cast<zip_uint64_t>(it - members_.begin()), 0);
  if (file == nullptr) fail(ErrorCode::kDataLoss, where_, "member \"{}\" is damaged: {}", name, zip_strerror(archive_));
  Bytes content(it->size_bytes, '\0');
  uint64_t done = 0;
  zip_int64_t got = 1;
  while (done < content.size() && (got = zip_fread(file, content.data() + done, content.size() - done)) > 0) done += static_cast<uint64_t>(got);
  char extra;
  // Reading to the end is what makes the library compare the checksum.
  const bool is_whole = done == content.size() && zip_fread(file, &extra, 1) == 0;
  const std::string why = is_whole ? "" : message_of(*zip_file_get_error(file));
  zip_fclose(file);
  if (!is_whole) fail(ErrorCode::kDataLoss, where_, "member \"{}\" is damaged: {}", name, why);
  return content;
}

void ZipWriter::add(std::string name, Bytes content) { members_.emplace_back(std::move(name), std::move(content)); }

Bytes ZipWriter::finish() {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  LOCKSTEP_CHECK(target != nullptr);
  zip_source_keep(target);
  zip_t* archive = zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error);
  LOCKSTEP_CHECK(archive != nullptr);
  for (const auto& [name, content] : members_) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    LOCKSTEP_CHECK(index >= 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
    constexpr zip_uint16_t kFirstDay = (1 << 5) | 1;  // 1980-01-01, zip's first
    zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, kFirstDay, 0);
  }
  if (zip_close(archive) != 0) fail(ErrorCode::kOutOfMemory, "zip", "cannot write the archive: {}", zip_strerror(archive));
  zip_stat_t stat;
  LOCKSTEP_CHECK(zip_source_stat(target, &stat) == 0 && zip_source_open(target) == 0);
  Bytes bytes(stat.size, '\0');
  LOCKSTEP_CHECK(zip_source_read(target, bytes.data(), stat.size) == static_cast<zip_int64_t>(stat.size));
  zip_source_close(target);
  zip_source_free(target);
  return bytes;
}

}  // namespace lockstep
