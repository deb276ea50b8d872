// Small graphs in tests: built from tensors, evaluated by the reference backend.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <vector>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/ir/builder.h"

namespace lockstep {

/// A graph whose parameters come with their values.
class TestGraph {
 public:
  TestGraph() : builder(graph) {}

  Value input(HostTensor tensor) {
    const Value value = builder.parameter(tensor.type(), "x");
    inputs_.push_back(std::move(tensor));
    return value;
  }
  Value f32(const Shape& shape, std::initializer_list<float> values) {
    return input(HostTensor::of<float>(shape, values));
  }
  Value s32(const Shape& shape, std::initializer_list<int32_t> values) {
    return input(HostTensor::of<int32_t>(shape, values));
  }
  void set_input(int position, HostTensor tensor) { inputs_[position] = std::move(tensor); }

  std::vector<HostTensor> evaluate(const std::vector<Value>& wanted) {
    std::vector<int> ids;
    for (const Value& value : wanted) ids.push_back(value.id);
    graph.set_results(std::move(ids));
    return lockstep::evaluate(graph, inputs_);
  }
  HostTensor evaluate(Value wanted) { return evaluate(std::vector{wanted})[0]; }

  Graph graph;
  Builder builder;

 private:
  std::vector<HostTensor> inputs_;
};

/// |got - want| <= tolerance * (1 + |want|), element by element.
inline void expect_near(const HostTensor& got, std::initializer_list<float> want,
                        double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size())) << got.type().str();
  const HostTensor values = got.as(DType::kF64);
  for (size_t i = 0; i < want.size(); ++i) {
    const double w = want.begin()[i];
    EXPECT_NEAR(values.data<double>()[i], w, tolerance * (1 + std::abs(w))) << "element " << i;
  }
}

/// Runs `body`, which must throw an Error of this code whose message contains `text`.
template <class Body>
void expect_error(ErrorCode code, std::string_view text, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos)
        << "got:  " << error.what() << "\nwant: " << text;
    return;
  }
  ADD_FAILURE() << "no error; wanted: " << text;
}

}  // namespace lockstep
