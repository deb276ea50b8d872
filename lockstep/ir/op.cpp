#include "lockstep/ir/op.h"

namespace lockstep {
namespace {

constexpr OpDef kOps[] = {
#define OP(Id, mnemonic, operands, traits, summary) \
  {Opcode::k##Id, #Id, mnemonic, operands, traits, summary, &Id##_rules},
#include "lockstep/ir/ops.def"
#undef OP
};

}  // namespace

const OpDef& op_def(Opcode opcode) {
  return kOps[static_cast<size_t>(opcode)];
}
std::span<const OpDef> all_ops() {
  return kOps;
}

}  // namespace lockstep
