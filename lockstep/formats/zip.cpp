#include "lockstep/formats/zip.h"

#include <zip.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr uint64_t kMaxUnpacked = uint64_t{1} << 36;
constexpr uint64_t kMaxRatio = 1000;

/// The text of an error, which is then done with.
std::string take_message(zip_error_t& error) {
  std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  return message;
}

/// Unpacked to a folder, the member would land inside it on every system.
bool is_safe_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find_first_of("\\:") != std::string_view::npos)
    return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return false;
    begin = end + 1;
  }
  return true;
}

auto find_member(const std::vector<ZipMember>& members, std::string_view name) {
  return std::find_if(members.begin(), members.end(),
                      [&](const ZipMember& member) { return member.name == name; });
}

struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Source = std::unique_ptr<zip_source_t, FreeSource>;

void add_stored(zip_t* archive, const std::string& name, const Bytes& content) {
  Source source(zip_source_buffer(archive, content.data(), content.size(), 0));
  LOCKSTEP_CHECK(source != nullptr);
  const zip_int64_t index = zip_file_add(archive, name.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  if (index < 0)
    invalid_argument("zip", "cannot add member \"{}\": {}", name, zip_strerror(archive));
  (void)source.release();                           // the archive's from here on
  constexpr zip_uint16_t kFirstDay = (1 << 5) | 1;  // 1980-01-01, zip's first
  const auto at = static_cast<zip_uint64_t>(index);
  LOCKSTEP_CHECK(zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) == 0 &&
                 zip_file_set_dostime(archive, at, 0, kFirstDay, 0) == 0);
}

}  // namespace

void ZipReader::Discard::operator()(zip* archive) const {
  zip_discard(archive);
}

ZipReader::ZipReader(Bytes bytes, std::string where)
    : bytes_(std::move(bytes)), where_(std::move(where)) {
  // libzip takes nothing at all for an archive without members.
  if (bytes_.empty()) fail(ErrorCode::kDataLoss, where_, "must be a zip archive: it is empty");
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error));
  if (source != nullptr)
    archive_.reset(zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (archive_ == nullptr)
    fail(ErrorCode::kDataLoss, where_, "must be a zip archive: {}", take_message(error));
  (void)source.release();  // the archive's from here on
  uint64_t total = 0;
  const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) add_member(static_cast<uint64_t>(i), total);
}

void ZipReader::add_member(uint64_t index, uint64_t& total) {
  zip_stat_t stat;
  if (zip_stat_index(archive_.get(), index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME) ||
      !(stat.valid & ZIP_STAT_SIZE))
    fail(ErrorCode::kDataLoss, where_, "each member must have a name and a size: number {}", index);
  if (!is_safe_name(stat.name))
    fail(ErrorCode::kDataLoss, where_, "member names must be plain relative paths: \"{}\"",
         stat.name);
  const uint64_t limit =
      std::min(kMaxUnpacked, std::max<uint64_t>(bytes_.size(), 1024) * kMaxRatio);
  if (stat.size > limit - total)
    fail(ErrorCode::kDataLoss, where_, "members must unpack to at most {} bytes: \"{}\" claims {}",
         limit, stat.name, stat.size);
  total += stat.size;
  members_.push_back({stat.name, stat.size});
}

bool ZipReader::contains(std::string_view name) const {
  return find_member(members_, name) != members_.end();
}

Bytes ZipReader::read(std::string_view name) const {
  const auto member = find_member(members_, name);
  if (member == members_.end())
    fail(ErrorCode::kNotFound, where_, "the archive must hold \"{}\"", name);
  const auto damaged = [&](std::string_view why) {
    fail(ErrorCode::kDataLoss, where_, "member \"{}\" is damaged: {}", name, why);
  };
  const std::unique_ptr<zip_file_t, CloseMember> file(
      zip_fopen_index(archive_.get(), static_cast<zip_uint64_t>(member - members_.begin()), 0));
  if (file == nullptr) damaged(zip_strerror(archive_.get()));
  Bytes content(member->size_bytes, '\0');
  size_t done = 0;
  zip_int64_t got = 1;
  while (done < content.size() && got > 0) {
    got = zip_fread(file.get(), content.data() + done, content.size() - done);
    done += static_cast<size_t>(std::max<zip_int64_t>(got, 0));
  }
  // Only a read at the end makes the library compare the checksum.
  char extra;
  if (got >= 0) got = zip_fread(file.get(), &extra, 1);
  if (got < 0) damaged(zip_file_strerror(file.get()));
  if (got > 0 || done < content.size())
    damaged(fmt::format("it must have {} bytes, as the archive says", content.size()));
  return content;
}

void ZipWriter::add(std::string name, Bytes content) {
  const auto is_same = [&](const auto& member) { return member.first == name; };
  if (std::any_of(members_.begin(), members_.end(), is_same))
    invalid_argument("zip", "member names must differ: \"{}\" comes twice", name);
  members_.emplace_back(std::move(name), std::move(content));
}

Bytes ZipWriter::finish() {
  zip_error_t error;
  zip_error_init(&error);
  const Source target(zip_source_buffer_create(nullptr, 0, 0, &error));
  LOCKSTEP_CHECK(target != nullptr);
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive(
      zip_open_from_source(target.get(), ZIP_CREATE | ZIP_TRUNCATE, &error), zip_discard);
  LOCKSTEP_CHECK(archive != nullptr);
  zip_source_keep(target.get());  // one hold is the archive's, one is ours
  for (const auto& [name, content] : members_) add_stored(archive.get(), name, content);
  if (zip_close(archive.get()) != 0)
    fail(ErrorCode::kOutOfMemory, "zip", "cannot write the archive: {}",
         zip_strerror(archive.get()));
  (void)archive.release();
  zip_stat_t stat;
  LOCKSTEP_CHECK(zip_source_stat(target.get(), &stat) == 0 && zip_source_open(target.get()) == 0);
  Bytes bytes(stat.size, '\0');
  const zip_int64_t got = zip_source_read(target.get(), bytes.data(), bytes.size());
  zip_source_close(target.get());
  LOCKSTEP_CHECK(got == static_cast<zip_int64_t>(bytes.size()));
  return bytes;
}

}  // namespace lockstep
