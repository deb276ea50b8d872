#include "lockstep/backend/pjrt/program_store.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "lockstep/base/log.h"

namespace lockstep::pjrt {
namespace {

namespace fs = std::filesystem;

/// FNV-1a; equal names are told apart by what the files hold.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325u;
  for (unsigned char c : text) value = (value ^ c) * 0x100000001b3u;
  return value;
}

/// What a file holds before the program: everything the program follows from.
std::string source_of(const Client& client, const std::string& text,
                      const ProgramOptions& options) {
  const std::string source = fmt::format("{}\n{}\n{}\n{}", client.platform(), client.device_kind(0),
                                         serialize(options), text);
  return fmt::format("lockstep program 2\n{}\n{}", source.size(), source);
}

std::string read(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// 16 digits. Against damage, not against harm.
std::string checksum(std::string_view body) {
  return fmt::format("{:016x}", hash(body));
}

/// The program in a file's bytes, or "" where they are not of this source, or damaged: a plugin may
/// crash on what it did not write.
std::string body_of(const std::string& bytes, const std::string& source) {
  constexpr size_t kDigits = 16;
  if (!bytes.starts_with(source) || bytes.size() < source.size() + kDigits) return "";
  const std::string body = bytes.substr(source.size() + kDigits);
  return bytes.compare(source.size(), kDigits, checksum(body)) == 0 ? body : "";
}

void note(const std::string& name, const char* what, const std::exception& error) {
  if (verbose_level() > 0) trace(fmt::format("pjrt: {} {}: {}", name, what, error.what()));
}

/// There whole or not at all; where it cannot be written, training goes on without.
void write(const fs::path& path, const std::string& bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", getpid());
  std::ofstream file(temporary, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file)
    fs::rename(temporary, path, error);
  else
    fs::remove(temporary, error);
}

}  // namespace

std::unique_ptr<LoadedProgram> ProgramStore::get(Client& client, const std::string& text,
                                                 const ProgramOptions& options,
                                                 const std::string& name) const {
  const std::string source = source_of(client, text, options);
  const fs::path path = folder_ / fmt::format("{:016x}.bin", hash(source));
  if (const std::string body = body_of(read(path), source); !body.empty()) {
    try {
      return client.load(body, name);
    } catch (const Error& error) {
      note(name, "is compiled again", error);
    }
  }
  std::unique_ptr<LoadedProgram> program = client.compile(text, options, name);
  try {
    const std::string body = program->serialize();
    write(path, source + checksum(body) + body);
  } catch (const Error& error) {
    note(name, "is not kept", error);
  }
  return program;
}

}  // namespace lockstep::pjrt
