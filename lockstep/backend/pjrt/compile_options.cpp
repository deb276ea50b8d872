#include "lockstep/backend/pjrt/compile_options.h"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace lockstep::pjrt {
namespace {

/// Protocol buffers' wire format.
class Message {
 public:
  Message& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& real(int field, double value) {
    varint(static_cast<uint64_t>(field) << 3 | 1);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    text_.append(raw, sizeof raw);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value > 127; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

std::string override_of(const Flag& flag) {
  Message message;
  if (const auto* text = std::get_if<std::string>(&flag.second))
    message.bytes(1, *text);
  else if (const auto* truth = std::get_if<bool>(&flag.second))
    message.number(2, *truth ? 1 : 0);
  else if (const auto* number = std::get_if<int64_t>(&flag.second))
    message.number(3, static_cast<uint64_t>(*number));
  else
    message.real(4, std::get<double>(flag.second));
  return Message().bytes(1, flag.first).bytes(2, message.text()).text();
}

}  // namespace

std::string serialize(const ProgramOptions& options) {
  Message build;
  build.number(4, static_cast<uint64_t>(options.replicas)).number(5, 1);
  Message message;
  message.bytes(3, build.text());
  if (options.is_portable) message.number(4, 1);
  for (const Flag& flag : options.flags) message.bytes(7, override_of(flag));
  return message.text();
}

}  // namespace lockstep::pjrt
