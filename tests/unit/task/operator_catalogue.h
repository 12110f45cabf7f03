// The operator kinds that deep-learning programs and solvers are made of, each said as a formula.
// One table for every test that needs "all kinds": that each can be said, that its canonical text
// is a fixed point, that its values are right. Shapes are small, odd where that finds mistakes.
#ifndef HIERA_TESTS_UNIT_TASK_OPERATOR_CATALOGUE_H_
#define HIERA_TESTS_UNIT_TASK_OPERATOR_CATALOGUE_H_

namespace hiera {

struct CatalogueEntry {
  const char* name;
  const char* text;
};

inline constexpr CatalogueEntry kOperatorCatalogue[] = {
    // Products of matrices.
    {"gemm_nn", R"(tensor A: f32[5,7]; tensor B: f32[7,6]; tensor C: f32[5,6]
C[i,j] = sum(k: A[i,k] * B[k,j]))"},
    {"gemm_tn", R"(tensor A: f32[7,5]; tensor B: f32[7,6]; tensor C: f32[5,6]
C[i,j] = sum(k: A[k,i] * B[k,j]))"},
    {"gemm_nt", R"(tensor A: f32[5,7]; tensor B: f32[6,7]; tensor C: f32[5,6]
C[i,j] = sum(k: A[i,k] * B[j,k]))"},
    {"gemm_tt", R"(tensor A: f32[7,5]; tensor B: f32[6,7]; tensor C: f32[5,6]
C[i,j] = sum(k: A[k,i] * B[j,k]))"},
    {"gemm_alpha_beta", R"(tensor A: f64[5,7]; tensor B: f64[7,6]; tensor C: f64[5,6]
scalar alpha; scalar beta
C[i,j] = alpha * sum(k: A[i,k] * B[k,j]) + beta * C[i,j])"},
    {"gemm_batched", R"(tensor A: f32[3,5,7]; tensor B: f32[3,7,6]; tensor C: f32[3,5,6]
C[b,i,j] = sum(k: A[b,i,k] * B[b,k,j]))"},
    {"gemm_3d_times_matrix", R"(tensor A: f32[3,5,7]; tensor B: f32[7,6]; tensor C: f32[3,5,6]
C[b,i,j] = sum(k: A[b,i,k] * B[k,j]))"},
    {"gemm_4d_times_matrix", R"(tensor A: f32[2,3,5,7]; tensor B: f32[7,6]; tensor C: f32[2,3,5,6]
C[b,c,i,j] = sum(k: A[b,c,i,k] * B[k,j]))"},
    {"gemm_symmetric", R"(tensor A: f32[5,7]; tensor C: f32[5,5]
C[i,j] = sum(k: A[i,k] * A[j,k]))"},
    {"gemm_diagonal", R"(tensor d: f32[5]; tensor B: f32[5,6]; tensor C: f32[5,6]
C[i,j] = d[i] * B[i,j])"},
    {"gemm_lower_triangular", R"(tensor A: f32[6,6]; tensor B: f32[6,6]; tensor C: f32[6,6]
C[i,j] = select(j <= i, sum(k: select(k <= i and j <= k, A[i,k] * B[k,j], 0)), 0))"},
    {"gemm_upper_triangular", R"(tensor A: f32[6,6]; tensor B: f32[6,6]; tensor C: f32[6,6]
C[i,j] = select(i <= j, sum(k: select(i <= k and k <= j, A[i,k] * B[k,j], 0)), 0))"},
    {"matrix_vector", R"(tensor A: f32[5,7]; tensor x: f32[7]; tensor y: f32[5]
y[i] = sum(k: A[i,k] * x[k]))"},
    {"matrix_scalar", R"(tensor A: f32[5,7]; tensor C: f32[5,7]; scalar s
C[i,j] = s * A[i,j])"},
    {"gemm_f16_into_f32", R"(tensor A: f16[5,7]; tensor B: f16[7,6]; tensor C: f32[5,6]
C[i,j] = sum(k: A[i,k] * B[k,j]))"},
    {"gemm_bf16", R"(tensor A: bf16[5,7]; tensor B: bf16[7,6]; tensor C: bf16[5,6]
C[i,j] = sum(k: A[i,k] * B[k,j]))"},
    {"gemm_strided", R"(tensor A: f32[5,7] strides[9,1]; tensor B: f32[7,6] strides[1,8]
tensor C: f32[5,6] strides[1,5]
C[i,j] = sum(k: A[i,k] * B[k,j]))"},
    {"contraction_of_two_axes", R"(tensor A: f32[4,2,3]; tensor B: f32[3,5,2]; tensor C: f32[4,5]
C[i,j] = sum(k,l: A[i,k,l] * B[l,j,k]))"},

    // Activations.
    {"relu", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = relu(x[i,j]))"},
    {"leaky_relu", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = select(x[i,j] > 0, x[i,j], 0.01 * x[i,j]))"},
    {"sigmoid", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = sigmoid(x[i,j]))"},
    {"tanh", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = tanh(x[i,j]))"},
    {"softmax", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j] - m[i]); y[i,j] = e[i,j] / sum(k: e[i,k]))"},
    {"log_softmax", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
m[i] = max(j: x[i,j])
y[i,j] = x[i,j] - m[i] - log(sum(k: exp(x[i,k] - m[i]))))"},
    {"silu", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = silu(x[i,j]))"},
    {"gelu", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = gelu(x[i,j]))"},
    {"gelu_tanh", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = 0.5*x[i,j]*(1 + tanh(0.7978845608028654*(x[i,j] + 0.044715*x[i,j]^3))))"},
    {"elu", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = select(x[i,j] > 0, x[i,j], exp(x[i,j]) - 1))"},
    {"selu", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = 1.0507009873554805*select(x[i,j] > 0, x[i,j], 1.6732632423543772*(exp(x[i,j]) - 1)))"},
    {"hard_sigmoid", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = min(max(x[i,j]/6 + 0.5, 0), 1))"},
    {"hard_swish", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = x[i,j]*min(max(x[i,j] + 3, 0), 6)/6)"},
    {"hard_tanh", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = min(max(x[i,j], -1), 1))"},
    {"softplus", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = max(x[i,j], 0) + log(1 + exp(-abs(x[i,j]))))"},
    {"softsign", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = x[i,j]/(1 + abs(x[i,j])))"},
    {"mish", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = x[i,j]*tanh(max(x[i,j], 0) + log(1 + exp(-abs(x[i,j])))))"},

    // Norms.
    {"batch_norm", R"(tensor x: f32[3,4,5,6]; tensor g: f32[4]; tensor b: f32[4]
tensor y: f32[3,4,5,6]
m[c] = mean(n,h,w: x[n,c,h,w]); v[c] = mean(n,h,w: (x[n,c,h,w] - m[c])^2)
y[n,c,h,w] = g[c]*(x[n,c,h,w] - m[c])*rsqrt(v[c] + 1e-5) + b[c])"},
    {"instance_norm", R"(tensor x: f32[3,4,5,6]; tensor y: f32[3,4,5,6]
m[n,c] = mean(h,w: x[n,c,h,w]); v[n,c] = mean(h,w: (x[n,c,h,w] - m[n,c])^2)
y[n,c,h,w] = (x[n,c,h,w] - m[n,c])*rsqrt(v[n,c] + 1e-5))"},
    {"group_norm", R"(tensor x: f32[3,2,4,5]; tensor s: f32[2,4]; tensor t: f32[2,4]
tensor y: f32[3,2,4,5]
m[n,g] = mean(c,h: x[n,g,c,h]); v[n,g] = mean(c,h: (x[n,g,c,h] - m[n,g])^2)
y[n,g,c,h] = s[g,c]*(x[n,g,c,h] - m[n,g])*rsqrt(v[n,g] + 1e-5) + t[g,c])"},
    {"layer_norm", R"(tensor x: f32[4,9]; tensor g: f32[9]; tensor b: f32[9]; tensor y: f32[4,9]
m[i] = mean(j: x[i,j]); d[i,j] = x[i,j] - m[i]
y[i,j] = g[j]*d[i,j]*rsqrt(mean(k: d[i,k]^2) + 1e-5) + b[j])"},
    {"rms_norm", R"(tensor x: f32[4,9]; tensor g: f32[9]; tensor y: f32[4,9]
y[i,j] = g[j]*x[i,j]*rsqrt(mean(k: x[i,k]^2) + 1e-6))"},
    {"l1_norm", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = x[i,j]/sum(k: abs(x[i,k])))"},
    {"l2_norm", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = x[i,j]/sqrt(sum(k: x[i,k]^2)))"},
    {"frobenius_norm", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
s = sqrt(sum(k,l: x[k,l]^2)); y[i,j] = x[i,j]/s)"},

    // Pooling.
    {"max_pool_1d_dilated", R"(tensor x: f32[2,3,11]; tensor y: f32[2,3,4]
y[n,c,i] = max(r<3: x[n,c,2*i+2*r]))"},
    {"max_pool_2d_padded", R"(tensor x: f32[2,3,7,9] outside clamp; tensor y: f32[2,3,4,5]
y[n,c,i,j] = max(r<3, s<3: x[n,c,2*i+r-1,2*j+s-1]))"},
    {"max_pool_2d_padded_dilated", R"(tensor x: f32[2,3,8] outside zero; tensor y: f32[2,3,6]
y[n,c,i] = max(r<3: select(0 <= i+2*r-1 and i+2*r-1 < 8, x[n,c,i+2*r-1], -inf)))"},
    {"max_pool_3d", R"(tensor x: f32[2,4,6,8]; tensor y: f32[2,2,3,4]
y[c,i,j,k] = max(r<2, s<2, t<2: x[c,2*i+r,2*j+s,2*k+t]))"},
    {"average_pool_1d_padded", R"(tensor x: f32[2,3,8] outside zero; tensor y: f32[2,3,4]
y[n,c,i] = sum(r<4: x[n,c,2*i+r-1])/4)"},
    {"average_pool_2d", R"(tensor x: f32[2,3,6,8]; tensor y: f32[2,3,2,4]
y[n,c,i,j] = mean(r<3, s<2: x[n,c,3*i+r,2*j+s]))"},
    {"average_pool_3d", R"(tensor x: f32[2,4,6,8]; tensor y: f32[2,2,3,4]
y[c,i,j,k] = mean(r<2, s<2, t<2: x[c,2*i+r,2*j+s,2*k+t]))"},
    {"global_average_pool", R"(tensor x: f32[2,3,6,8]; tensor y: f32[2,3]
y[n,c] = mean(i,j: x[n,c,i,j]))"},

    // Reductions over an axis.
    {"sum_over_last_axis", R"(tensor x: f32[4,9]; tensor y: f32[4]; y[i] = sum(j: x[i,j]))"},
    {"sum_over_first_axis", R"(tensor x: f32[4,9]; tensor y: f32[9]; y[j] = sum(i: x[i,j]))"},
    {"mean_over_middle_axis", R"(tensor x: f32[3,4,5]; tensor y: f32[3,5]
y[i,k] = mean(j: x[i,j,k]))"},
    {"max_over_axis", R"(tensor x: f32[3,4,5]; tensor y: f32[3,5]; y[i,k] = max(j: x[i,j,k]))"},
    {"min_over_axis", R"(tensor x: f32[3,4,5]; tensor y: f32[3,4]; y[i,j] = min(k: x[i,j,k]))"},
    {"prod_over_axis", R"(tensor x: f64[3,5]; tensor y: f64[3]; y[i] = prod(j: x[i,j]))"},
    {"argmax_over_axis", R"(tensor x: f32[4,9]; tensor y: i32[4]; y[i] = argmax(j: x[i,j]))"},
    {"argmin_over_axis",
     R"(tensor x: f32[3,4,5]; tensor y: i32[3,5]; y[i,k] = argmin(j: x[i,j,k]))"},
    {"any_and_all", R"(tensor x: f32[4,9]; tensor p: bool[4]; tensor q: bool[4]
p[i] = any(j: x[i,j] > 1); q[i] = all(j: x[i,j] > -1))"},
    {"count", R"(tensor x: f32[4,9]; tensor y: i32[4]; y[i] = sum(j: x[i,j] > 0))"},
    {"integers", R"(tensor x: i32[4,9]; tensor y: i32[4,9]
y[i,j] = select(x[i,j] % 3 == 0, max(x[i,j], j), -abs(x[i,j]) + 2*i))"},

    // Convolutions.
    {"conv_1d", R"(tensor X: f32[2,3,9]; tensor W: f32[4,3,3]; tensor Y: f32[2,4,7]
Y[n,f,x] = sum(c,r: X[n,c,x+r] * W[f,c,r]))"},
    {"conv_1d_strided_dilated", R"(tensor X: f32[2,3,13]; tensor W: f32[4,3,3]
tensor Y: f32[2,4,5]
Y[n,f,x] = sum(c,r: X[n,c,2*x+2*r] * W[f,c,r]))"},
    {"conv_2d_padded_bias", R"(tensor X: f32[2,3,6,7] outside zero; tensor W: f32[4,3,3,3]
tensor bias: f32[4]; tensor Y: f32[2,4,6,7]
Y[n,f,y,x] = sum(c,r,s: X[n,c,y+r-1,x+s-1] * W[f,c,r,s]) + bias[f])"},
    {"conv_2d_strided", R"(tensor X: f32[2,3,8,8] outside zero; tensor W: f32[4,3,3,5]
tensor Y: f32[2,4,4,3]
Y[n,f,y,x] = sum(c,r,s: X[n,c,2*y+r-1,3*x+s-2] * W[f,c,r,s]))"},
    {"conv_2d_dilated", R"(tensor X: f32[1,2,9,9]; tensor W: f32[3,2,3,3]; tensor Y: f32[1,3,5,5]
Y[n,f,y,x] = sum(c,r,s: X[n,c,y+2*r,x+2*s] * W[f,c,r,s]))"},
    {"conv_2d_grouped", R"(tensor X: f32[2,2,3,6,6]; tensor W: f32[2,2,3,3,3]
tensor Y: f32[2,2,2,4,4]
Y[n,g,f,y,x] = sum(c,r,s: X[n,g,c,y+r,x+s] * W[g,f,c,r,s]))"},
    {"conv_2d_depthwise", R"(tensor X: f32[2,3,6,6] outside zero; tensor W: f32[3,3,3]
tensor Y: f32[2,3,6,6]
Y[n,c,y,x] = sum(r,s: X[n,c,y+r-1,x+s-1] * W[c,r,s]))"},
    {"conv_2d_pointwise", R"(tensor X: f32[2,3,4,5]; tensor W: f32[6,3]; tensor Y: f32[2,6,4,5]
Y[n,f,y,x] = sum(c: X[n,c,y,x] * W[f,c]))"},
    {"conv_2d_separable", R"(tensor X: f32[2,3,6,6] outside zero; tensor D: f32[3,3,3]
tensor P: f32[4,3]; tensor Y: f32[2,4,6,6]
d[n,c,y<6,x<6] = sum(r,s: X[n,c,y+r-1,x+s-1] * D[c,r,s])
Y[n,f,y,x] = sum(c: d[n,c,y,x] * P[f,c]))"},
    {"conv_3d", R"(tensor X: f32[1,2,4,5,6] outside zero; tensor W: f32[3,2,3,3,3]
tensor Y: f32[1,3,4,5,6]
Y[n,f,z,y,x] = sum(c,q,r,s: X[n,c,z+q-1,y+r-1,x+s-1] * W[f,c,q,r,s]))"},
    {"conv_2d_channels_last", R"(tensor X: f32[2,6,7,3] outside zero; tensor W: f32[4,3,3,3]
tensor Y: f32[2,6,7,4]
Y[n,y,x,f] = sum(c,r,s: X[n,y+r-1,x+s-1,c] * W[f,r,s,c]))"},

    // Transposed convolutions: the element o takes part where (o + pad - dilation*r) is a whole
    // multiple of the stride. Output padding is a longer Y.
    {"conv_transposed_1d", R"(tensor X: f32[2,3,5] outside zero; tensor W: f32[3,4,3]
tensor Y: f32[2,4,7]
Y[n,f,x] = sum(c,r: X[n,c,x-r] * W[c,f,r]))"},
    {"conv_transposed_1d_strided_dilated", R"(tensor X: f32[2,3,5] outside zero
tensor W: f32[3,4,3]; tensor Y: f32[2,4,11]
Y[n,f,x] = sum(c,r: X[n,c,(x+1-2*r)/2] * W[c,f,r]))"},
    {"conv_transposed_2d_output_padding", R"(tensor X: f32[1,3,4,5] outside zero
tensor W: f32[3,2,3,3]; tensor Y: f32[1,2,8,15]
Y[n,f,y,x] = sum(c,r,s: X[n,c,(y+1-r)/2,(x+1-s)/3] * W[c,f,r,s]))"},
    {"conv_transposed_2d_grouped", R"(tensor X: f32[1,2,3,4,4] outside zero
tensor W: f32[2,3,2,3,3]; tensor Y: f32[1,2,2,9,9]
Y[n,g,f,y,x] = sum(c,r,s: X[n,g,c,(y-r)/2,(x-s)/2] * W[g,c,f,r,s]))"},
    {"conv_transposed_3d", R"(tensor X: f32[1,2,2,3,2] outside zero; tensor W: f32[2,2,2,2,2]
tensor Y: f32[1,2,4,6,4]
Y[n,f,z,y,x] = sum(c,q,r,s: X[n,c,(z-q)/2,(y-r)/2,(x-s)/2] * W[c,f,q,r,s]))"},

    // Scans.
    {"cumsum", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = cumsum(j: x[i,j]))"},
    {"cumsum_first_axis", R"(tensor x: f32[4,9]; tensor y: f32[4,9]; y[i,j] = cumsum(i: x[i,j]))"},
    {"cumprod", R"(tensor x: f64[4,9]; tensor y: f64[4,9]; y[i,j] = cumprod(j: x[i,j]))"},
    {"cumsum_reverse", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = cumsum(reverse j: x[i,j]))"},
    {"cumsum_exclusive", R"(tensor x: f32[4,9]; tensor y: f32[4,9]
y[i,j] = cumsum(exclusive j: x[i,j]))"},
    {"cumprod_reverse_exclusive", R"(tensor x: f64[4,9]; tensor y: f64[4,9]
y[i,j] = cumprod(reverse exclusive j: x[i,j]))"},
    {"cumsum_masked", R"(tensor x: f32[4,9]; tensor mask: bool[4,9]; tensor y: f32[4,9]
y[i,j] = cumsum(j: select(mask[i,j], x[i,j], 0)))"},

    // Losses.
    {"mse_loss", R"(tensor p: f32[4,9]; tensor t: f32[4,9]; tensor loss: f32[]
loss = mean(i,j: (p[i,j] - t[i,j])^2))"},
    {"huber_loss", R"(tensor p: f32[4,9]; tensor t: f32[4,9]; tensor loss: f32[]
d[i,j] = abs(p[i,j] - t[i,j])
loss = mean(i,j: select(d[i,j] < 1, 0.5*d[i,j]^2, d[i,j] - 0.5)))"},
    {"hinge_loss", R"(tensor p: f32[9]; tensor t: f32[9]; tensor loss: f32[]
loss = mean(i: max(1 - p[i]*t[i], 0)))"},
    {"cross_entropy_loss", R"(tensor x: f32[4,9] outside clamp; tensor t: i32[4]
tensor loss: f32[]
m[i] = max(j: x[i,j])
loss = mean(i: log(sum(j: exp(x[i,j] - m[i]))) + m[i] - x[i,t[i]]))"},
    {"kl_divergence_loss", R"(tensor p: f32[4,9]; tensor t: f32[4,9]; tensor loss: f32[]
contract inputs=positive
loss = sum(i,j: t[i,j]*(log(t[i,j]) - log(p[i,j])))/4)"},
    {"triplet_margin_loss", R"(tensor a: f32[4,9]; tensor p: f32[4,9]; tensor n: f32[4,9]
tensor loss: f32[]
near[i] = sqrt(sum(j: (a[i,j] - p[i,j] + 1e-6)^2))
far[i] = sqrt(sum(j: (a[i,j] - n[i,j] + 1e-6)^2))
loss = mean(i: max(near[i] - far[i] + 1, 0)))"},
    {"cosine_similarity_loss", R"(tensor p: f32[4,9]; tensor t: f32[4,9]; tensor loss: f32[]
loss = mean(i: 1 - sum(j: p[i,j]*t[i,j])*rsqrt(sum(j: p[i,j]^2)*sum(j: t[i,j]^2))))"},

    // Attention.
    {"attention", R"(tensor Q: f32[2,5,4]; tensor K: f32[2,7,4]; tensor V: f32[2,7,6]
tensor O: f32[2,5,6]
s[h,i,j] = 0.5*sum(d: Q[h,i,d] * K[h,j,d]); m[h,i] = max(j: s[h,i,j])
e[h,i,j] = exp(s[h,i,j] - m[h,i])
O[h,i,d] = sum(j: e[h,i,j] * V[h,j,d])/sum(j: e[h,i,j]))"},
    {"attention_causal", R"(tensor Q: f32[2,5,4]; tensor K: f32[2,5,4]; tensor V: f32[2,5,4]
tensor O: f32[2,5,4]
s[h,i,j] = select(j <= i, 0.5*sum(d: Q[h,i,d] * K[h,j,d]), -inf)
m[h,i] = max(j: s[h,i,j]); e[h,i,j] = exp(s[h,i,j] - m[h,i])
O[h,i,d] = sum(j: e[h,i,j] * V[h,j,d])/sum(j: e[h,i,j]))"},
    {"attention_relu_masked", R"(tensor Q: f32[5,4]; tensor K: f32[7,4]; tensor V: f32[7,6]
tensor mask: bool[5,7]; tensor O: f32[5,6]
O[i,d] = sum(j: select(mask[i,j], relu(sum(k: Q[i,k] * K[j,k])), 0) * V[j,d]))"},

    // Gathers.
    {"embedding", R"(tensor E: f32[11,4] outside zero; tensor word: i32[6]; tensor y: f32[6,4]
y[i,j] = E[word[i],j])"},
    {"gather_of_a_sum", R"(tensor x: f32[4,9] outside wrap; tensor n: i32[4,3]; tensor y: f32[4]
y[i] = sum(k: x[i,n[i,k]+2]))"},

    // Chains.
    {"gemm_bias_gelu", R"(tensor A: f32[5,7]; tensor B: f32[7,6]; tensor d: f32[6]
tensor C: f32[5,6]
C[i,j] = gelu(sum(k: A[i,k] * B[k,j]) + d[j]))"},
    {"gemm_scale_residual_clamp_log_sum_exp_mish", R"(tensor A: f32[5,7]; tensor B: f32[7,6]
tensor d: f32[6]; tensor y: f32[5]
h[i,j] = sum(k: A[i,k] * B[k,j]) + d[j]; c[i,j] = min(max(2*(2*h[i,j]), -10), 10)
m[i] = max(j: c[i,j]); l[i] = log(sum(j: exp(c[i,j] - m[i]))) + m[i]
p[i] = max(l[i], 0) + log(1 + exp(-abs(l[i]))); y[i] = l[i]*(l[i]*tanh(p[i])))"},
    {"gemm_group_norm_hard_tanh", R"(tensor A: f32[5,7]; tensor B: f32[7,2,3]
tensor y: f32[5,2,3]
h[i,g,j] = sum(k: A[i,k] * B[k,g,j]); m[i,g] = mean(j: h[i,g,j])
v[i,g] = mean(j: (h[i,g,j] - m[i,g])^2)
y[i,g,j] = min(max((h[i,g,j] - m[i,g])*rsqrt(v[i,g] + 1e-5), -2), 2))"},
    {"gemm_max_pool_sum_scale", R"(tensor A: f32[5,7]; tensor B: f32[8,7]; tensor y: f32[5]
h[i,j] = sum(k: A[i,k] * B[j,k]); y[i] = 0.5*sum(j<4: max(r<2: h[i,2*j+r])))"},
    {"conv_relu_max_pool", R"(tensor X: f32[2,3,6,6] outside zero; tensor W: f32[4,3,3,3]
tensor b: f32[4]; tensor Y: f32[2,4,3,3]
h[n,f,y<6,x<6] outside zero = relu(sum(c,r,s: X[n,c,y+r-1,x+s-1] * W[f,c,r,s]) + b[f])
Y[n,f,y,x] = max(r<3, s<3: h[n,f,2*y+r-1,2*x+s-1]))"},
    {"conv_instance_norm_divide", R"(tensor X: f32[2,3,6,6]; tensor W: f32[4,3,3,3]
tensor Y: f32[2,4,4,4]
h[n,f,y<4,x<4] = sum(c,r,s: X[n,c,y+r,x+s] * W[f,c,r,s]); m[n,f] = mean(y,x: h[n,f,y,x])
v[n,f] = mean(y,x: (h[n,f,y,x] - m[n,f])^2)
Y[n,f,y,x] = (h[n,f,y,x] - m[n,f])*rsqrt(v[n,f] + 1e-5)/2)"},
    {"conv_transposed_softmax_bias_sigmoid", R"(tensor X: f32[2,3,4,4] outside zero
tensor W: f32[3,4,3,3]; tensor b: f32[4]; tensor Y: f32[2,4,8,8]
h[n,f,y<8,x<8] = sum(c,r,s: X[n,c,(y+1-r)/2,(x+1-s)/2] * W[c,f,r,s])
m[n,y,x] = max(f: h[n,f,y,x]); e[n,f,y,x] = exp(h[n,f,y,x] - m[n,y,x])
Y[n,f,y,x] = sigmoid(2*(e[n,f,y,x]/sum(g: e[n,g,y,x]) + b[f])))"},
    {"log_sum_exp", R"(tensor x: f32[4,9]; tensor y: f32[4]
m[i] = max(j: x[i,j]); y[i] = m[i] + log(sum(j: exp(x[i,j] - m[i]))))"},

    // Stencils.
    {"stencil_star_2d", R"(tensor u: f32[9,11] outside zero; tensor v: f32[9,11]
v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]))"},
    {"stencil_star_3d_wrap_steps", R"(tensor u: f64[5,6,7] outside wrap; tensor v: f64[5,6,7]
steps 3 (u = v)
v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k] + u[i,j+1,k]
    + u[i,j,k-1] + u[i,j,k+1]))"},
    {"stencil_heat_keep_steps", R"(tensor u: f32[9,11] outside keep; tensor v: f32[9,11]
scalar c; steps 4 (u = v)
v[i,j] = u[i,j] + c*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j]))"},
    {"stencil_gradient_2d", R"(tensor u: f32[9,11] outside clamp; tensor v: f32[9,11]
v[i,j] = u[i,j]*rsqrt(0.01 + (u[i+1,j] - u[i-1,j])^2 + (u[i,j+1] - u[i,j-1])^2))"},
    {"stencil_wave_two_states", R"(tensor u: f64[12] outside wrap; tensor old: f64[12]
tensor new: f64[12]; steps 5 (u = new, old = u)
new[i] = 2*u[i] - old[i] + 0.25*(u[i-1] - 2*u[i] + u[i+1]))"},
    {"stencil_box_2d", R"(tensor u: f64[9,11] outside clamp; tensor w: f64[5,5]; tensor v: f64[9,11]
v[i,j] = sum(r,s: w[r,s] * u[i+r-2,j+s-2]))"},
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_TASK_OPERATOR_CATALOGUE_H_
