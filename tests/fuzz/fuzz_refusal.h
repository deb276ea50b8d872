// What every fuzz target asks of a reader: an answer, or a refusal of the right kind.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "lockstep/base/error.h"

namespace lockstep {

/// Runs `body`; an Error must have one of `codes`, and no other exception may come out.
template <class Body>
void answer_or_refuse(std::initializer_list<ErrorCode> codes, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    LOCKSTEP_CHECK(std::find(codes.begin(), codes.end(), error.code()) != codes.end());
  }
}

}  // namespace lockstep
