// Several neighbouring elements at once, 16 bytes a transaction where there are as many. Placed
// behind scalar_functions.cc in generated CUDA kernels. Addresses must be aligned to 16 bytes, or
// to all of the elements where those are fewer bytes.
namespace fn {

template <typename T, int N>
struct Neighbours {
  alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) T e[N];
};

template <int N, typename T>
static inline Neighbours<T, N> take(const T* from) {
  return *reinterpret_cast<const Neighbours<T, N>*>(from);
}
template <int N, typename T>
static inline void put(T* to, const Neighbours<T, N>& neighbours) {
  *reinterpret_cast<Neighbours<T, N>*>(to) = neighbours;
}

}  // namespace fn
