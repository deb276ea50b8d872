// oneDNN 2.x and 3.x behind one spelling. The only file that looks at DNNL_VERSION_MAJOR.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace lockstep::compat {

using dnnl::memory;

#if DNNL_VERSION_MAJOR >= 3
/// Primitive descriptor of P from what describes it, in 2.x's order, without a hint.
template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                    Args&&... args) {
  return typename P::primitive_desc(engine, std::forward<Args>(args)..., attr);
}
template <class P, class Hint, class... Args>
typename P::primitive_desc describe_hinted(const dnnl::engine& engine,
                                           const dnnl::primitive_attr& attr, const Hint& hint,
                                           Args&&... args) {
  return typename P::primitive_desc(engine, std::forward<Args>(args)..., hint, attr);
}
/// As `describe_hinted`, of the first kernel that `accepts` takes, or else the last there is.
template <class P, class Hint, class Accepts, class... Args>
typename P::primitive_desc describe_accepted(const dnnl::engine& engine,
                                             const dnnl::primitive_attr& attr, const Hint& hint,
                                             Accepts&& accepts, Args&&... args) {
  auto desc = describe_hinted<P>(engine, attr, hint, std::forward<Args>(args)...);
  while (!accepts(desc))
    if (!desc.next_impl()) break;
  return desc;
}
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha,
                           float beta) {
  ops.append_eltwise(algorithm, alpha, beta);
}
/// 3.x has no scale on an elementwise post-op: elu times scale is elu, then linear.
inline void append_scaled_elu(dnnl::post_ops& ops, float scale, float alpha) {
  ops.append_eltwise(dnnl::algorithm::eltwise_elu, alpha, 0.0f);
  if (scale != 1.0f) ops.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0.0f);
}
#else
template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                    Args&&... args) {
  return typename P::primitive_desc(typename P::desc(std::forward<Args>(args)...), attr, engine);
}
template <class P, class Hint, class... Args>
typename P::primitive_desc describe_hinted(const dnnl::engine& engine,
                                           const dnnl::primitive_attr& attr, const Hint& hint,
                                           Args&&... args) {
  return
      typename P::primitive_desc(typename P::desc(std::forward<Args>(args)...), attr, engine, hint);
}
/// 2.x's `next_impl` reads the operation's description, which must still be there.
template <class P, class Hint, class Accepts, class... Args>
typename P::primitive_desc describe_accepted(const dnnl::engine& engine,
                                             const dnnl::primitive_attr& attr, const Hint& hint,
                                             Accepts&& accepts, Args&&... args) {
  const typename P::desc operation(std::forward<Args>(args)...);
  typename P::primitive_desc desc(operation, attr, engine, hint);
  while (!accepts(desc))
    if (!desc.next_impl()) break;
  return desc;
}
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha,
                           float beta) {
  ops.append_eltwise(1.0f, algorithm, alpha, beta);
}
inline void append_scaled_elu(dnnl::post_ops& ops, float scale, float alpha) {
  ops.append_eltwise(scale, dnnl::algorithm::eltwise_elu, alpha, 0.0f);
}
#endif

}  // namespace lockstep::compat
