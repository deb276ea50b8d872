// Whole graphs on a backend, for comparison with what the reference makes of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/backend/backend.h"

namespace lockstep {

inline std::vector<HostTensor> run(const Executable& executable,
                                   const std::vector<HostTensor>& inputs, int repeats = 1) {
  const auto context = executable.create_context(0);
  std::vector<const void*> from;
  for (const HostTensor& input : inputs) from.push_back(input.bytes());
  std::vector<HostTensor> results;
  std::vector<void*> to;
  for (const TensorType& type : executable.output_types()) results.emplace_back(type);
  for (HostTensor& result : results) to.push_back(result.bytes());
  for (int i = 0; i < repeats; ++i) executable.run(*context, from, to);
  return results;
}

/// `tolerance` is a part of the largest element: 1e-5 for sums of some thousand products in f32.
inline void expect_near(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want,
                        double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    double largest = 0;
    for (float value : want[i].data<float>()) largest = std::max(largest, std::abs(double{value}));
    for (size_t j = 0; j < static_cast<size_t>(want[i].size()); ++j)
      ASSERT_NEAR(got[i].data<float>()[j], want[i].data<float>()[j], tolerance * largest)
          << "result " << i << " element " << j;
  }
}

}  // namespace lockstep
