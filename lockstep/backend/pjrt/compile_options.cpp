#include "lockstep/backend/pjrt/compile_options.h"

#include "lockstep/base/protobuf.h"

namespace lockstep::pjrt {
namespace {

std::string override_of(const Flag& flag) {
  ProtobufWriter message;
  if (const auto* text = std::get_if<std::string>(&flag.second))
    message.bytes(1, *text);
  else if (const auto* truth = std::get_if<bool>(&flag.second))
    message.number(2, *truth ? 1 : 0);
  else if (const auto* number = std::get_if<int64_t>(&flag.second))
    message.number(3, static_cast<uint64_t>(*number));
  else
    message.real(4, std::get<double>(flag.second));
  return ProtobufWriter().bytes(1, flag.first).bytes(2, message.text()).text();
}

}  // namespace

std::string serialize(const ProgramOptions& options) {
  ProtobufWriter build;
  build.number(4, static_cast<uint64_t>(options.replicas)).number(5, 1);
  ProtobufWriter message;
  message.bytes(3, build.text());
  if (options.is_portable) message.number(4, 1);
  for (const Flag& flag : options.flags) message.bytes(7, override_of(flag));
  return message.text();
}

}  // namespace lockstep::pjrt
