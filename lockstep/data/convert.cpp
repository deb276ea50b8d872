#include "lockstep/data/convert.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace lockstep {
namespace {

/// Whether every From has a value in To.
template <class To, class From>
constexpr bool always_fits() {
  if constexpr (std::is_floating_point_v<To> || std::is_same_v<To, bool> ||
                std::is_same_v<From, bool>)
    return true;
  else if constexpr (std::is_floating_point_v<From>)
    return false;
  else
    return std::in_range<To>(std::numeric_limits<From>::min()) &&
           std::in_range<To>(std::numeric_limits<From>::max());
}

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    // The limits of To as doubles: its least value and one more than its greatest are exact.
    const double whole = std::trunc(static_cast<double>(value));
    return whole >= static_cast<double>(std::numeric_limits<To>::min()) &&
           whole < std::ldexp(1.0, std::numeric_limits<To>::digits);
  } else {
    return std::in_range<To>(value);
  }
}

template <class To, class From>
void convert(const Column& column, const From* from, To* to) {
  const int64_t n = column.row.size();
  if constexpr (!always_fits<To, From>())
    for (int64_t i = 0; i < n; ++i)
      if (!fits<To>(from[i]))
        invalid_argument(column_key(column), "values must fit {}: {} at element {}",
                         keras_name(dtype_of<To>()), from[i], i);
  if constexpr (std::is_floating_point_v<To>) {
    if (column.divisor) {
      const To divisor = static_cast<To>(*column.divisor);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]) / divisor;
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace

void convert_row(const Column& column, const void* from, DType wanted, void* to) {
  dispatch(column.row.dtype, [&]<class From>() {
    dispatch(wanted, [&]<class To>() {
      convert(column, static_cast<const From*>(from), static_cast<To*>(to));
    });
  });
}

}  // namespace lockstep
