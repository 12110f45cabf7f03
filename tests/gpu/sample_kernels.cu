// A variant's code as a compiler would leave it in the store: y = a * x in one step, and in two
// that meet in a workspace.
extern "C" __global__ void scale(const float* x, float* y, float a, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}

// Adds 1 to a counter that a step before has set to 0, and keeps a * x.
extern "C" __global__ void keep(const float* x, float* kept, float a, int* counter, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) kept[i] = a * x[i];
  if (threadIdx.x == 0) atomicAdd(counter, 1);
}

// Hands on what was kept, unless the counter is not what it must be.
extern "C" __global__ void hand_on(const float* kept, float* y, const int* counter, int blocks,
                                   long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = *counter == blocks ? kept[i] : -1.0f;
}

// In clusters, with more shared memory than a block gets unasked: passes x through it.
extern "C" __global__ void through_shared(const float* x, float* y, float a, long long n) {
  extern __shared__ float shared[];
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int far = 20000 + threadIdx.x;
  if (i < n) shared[far] = x[i];
  __syncthreads();
  if (i < n) y[i] = a * shared[far];
}

// Nothing: what a launch alone costs.
extern "C" __global__ void nothing(const float*, float*, float) {}
