// Floats too small for full precision are zero in every device thread (docs/determinism.md).
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace lockstep {

/// Sets flush-to-zero and denormals-are-zero for the calling thread.
inline void flush_denormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

}  // namespace lockstep
