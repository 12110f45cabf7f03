// Formulas that generators are tested with: shapes with remainders, strides, rules, types.
#ifndef HIERA_TESTS_UNIT_POLICIES_FORMULA_CASES_H_
#define HIERA_TESTS_UNIT_POLICIES_FORMULA_CASES_H_

#include <string>

namespace hiera::testing {

struct FormulaCase {
  std::string name;
  std::string text;
};

inline const FormulaCase kFormulaCases[] = {
    {"pointwise",
     "tensor x: f32[7,33]; tensor b: f32[33]; tensor y: f32[7,33]; scalar a\n"
     "y[i,j] = gelu(a * x[i,j] + b[j])"},
    {"every function",
     "tensor x: f32[5,21]; tensor y: f32[5,21]\n"
     "y[i,j] = exp(-abs(x[i,j])) + log(abs(x[i,j]) + 1.5) + sin(x[i,j]) * cos(x[i,j])"
     " + sqrt(abs(x[i,j])) + rsqrt(abs(x[i,j]) + 0.5) + tanh(x[i,j]) + erf(x[i,j])"
     " + sigmoid(x[i,j]) + relu(x[i,j]) + silu(x[i,j]) + floor(x[i,j])"
     " + max(x[i,j], 0.25) - min(x[i,j], -0.25) + (abs(x[i,j]) + 0.5)^1.5"},
    {"f64 rows",
     "tensor x: f64[9,37] strides[41,1]; tensor y: f64[9,37] strides[1,9]\n"
     "y[i,j] = tanh(x[i,j]) / 3 + exp(x[i,j])"},
    {"half in, bfloat out",
     "tensor x: f16[6,19]; tensor y: bf16[6,19]; tensor z: f16[6,19]\n"
     "y[i,j] = x[i,j] * 1.1; z[i,j] = x[i,j] / 7"},
    {"half from f64",
     "tensor x: f64[65]; tensor y: f16[65]; tensor z: bf16[65]\n"
     "y[i] = x[i] * 1.1; z[i] = x[i] * 0.7"},
    {"integers and booleans",
     "tensor a: i32[5,11]; tensor m: bool[11]; tensor y: i32[5,11]; tensor z: bool[5,11]\n"
     "y[i,j] = select(m[j], a[i,j] * 3 - i, (a[i,j] + j) % 4); z[i,j] = a[i,j] < 2 and not m[j]"},
    {"triangular",
     "tensor x: f32[12,12]; tensor y: f32[12,12]\ny[i,j] = select(j <= i, x[i,j], 0)"},
    {"softmax",
     "tensor x: f32[6,45]; tensor y: f32[6,45]\n"
     "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j] - m[i]); y[i,j] = e[i,j] / sum(k: e[i,k])"},
    {"layer norm",
     "tensor x: f32[5,70]; tensor g: f32[70]; tensor b: f32[70]; tensor y: f32[5,70]\n"
     "m[i] = mean(j: x[i,j]); d[i,j] = x[i,j] - m[i]; v[i] = mean(j: d[i,j] * d[i,j])\n"
     "y[i,j] = d[i,j] * rsqrt(v[i] + 0.00001) * g[j] + b[j]"},
    {"rms norm",
     "tensor x: f16[4,50]; tensor y: f16[4,50]\n"
     "y[i,j] = x[i,j] * rsqrt(mean(k: x[i,k] * x[i,k]) + 0.000001)"},
    {"in place", "tensor x: f32[4,50]; tensor r: f32[4,50]\nx[i,j] = silu(x[i,j]) + r[i,j]"},
    {"log-sum-exp",
     "tensor x: f64[8,29]; tensor y: f64[8]\n"
     "m[i] = max(j: x[i,j]); y[i] = m[i] + log(sum(j: exp(x[i,j] - m[i])))"},
    {"arg reductions",
     "tensor x: f32[9,31]; tensor y: i32[9]; tensor z: i32[31]\n"
     "y[i] = argmax(j: x[i,j]); z[j] = argmin(i: x[i,j])"},
    {"column sums",
     "tensor x: f32[23,40]; tensor y: f32[40]; tensor z: f32[40]\n"
     "y[j] = sum(i: x[i,j]); z[j] = max(i: abs(x[i,j]))"},
    {"whole reductions",
     "tensor x: f32[31,33]; tensor t: f32[31,33]; tensor y: f32[]; tensor z: f64[1]\n"
     "y = mean(i, j: (x[i,j] - t[i,j]) * (x[i,j] - t[i,j])); z[o] = sum(i, j: x[i,j])"},
    {"any and all",
     "tensor x: f32[6,9]; tensor y: bool[6]; tensor z: bool[9]\n"
     "y[i] = any(j: x[i,j] > 1); z[j] = all(i: x[i,j] > -1)"},
    {"product", "tensor x: f32[6,9]; tensor y: f32[6]\ny[i] = prod(j: x[i,j])"},
    {"matrix product",
     "tensor A: f32[13,17]; tensor B: f32[17,21]; tensor C: f32[13,21]; scalar alpha; scalar "
     "beta\n"
     "C[i,j] = alpha * sum(k: A[i,k] * B[k,j]) + beta * C[i,j]"},
    {"transposed matrix product",
     "tensor A: f64[17,13] strides[15,1]; tensor B: f64[21,17]; tensor C: f64[13,21]\n"
     "C[i,j] = sum(k: A[k,i] * B[j,k])"},
    {"convolution",
     "tensor X: f32[2,3,11,13] outside zero; tensor W: f32[4,3,3,3]; tensor Y: f32[2,4,11,13]\n"
     "Y[n,f,y,x] = relu(sum(c, r, s: X[n,c,y+r-1,x+s-1] * W[f,c,r,s]))"},
    {"strided convolution",
     "tensor X: f32[2,3,12,14] outside zero; tensor W: f32[4,3,3,3]; tensor Y: f32[2,4,6,7]\n"
     "Y[n,f,y,x] = sum(c, r, s: X[n,c,2*y+r-1,2*x+s-1] * W[f,c,r,s])"},
    {"transposed convolution",
     "tensor X: f32[2,5,6] outside zero; tensor W: f32[2,3,3]; tensor Y: f32[11,13]\n"
     "Y[y,x] = sum(c, r, s: X[c,(y+1-r)/2,(x+1-s)/2] * W[c,r,s])"},
    {"max pooling",
     "tensor X: f32[3,13,15]; tensor Y: f32[3,6,7]\n"
     "Y[c,y,x] = max(r<3, s<3: X[c,2*y+r,2*x+s])"},
    {"clamped stencil",
     "tensor u: f32[14,17] outside clamp; tensor v: f32[14,17]\n"
     "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])"},
    {"wrapped stencil",
     "tensor u: f64[14,17] outside wrap; tensor v: f64[14,17]\n"
     "v[i,j] = u[i-2,j] - 2*u[i,j+3] + u[i+1,j-1]"},
    {"kept stencil",
     "tensor u: f32[9,12,10] outside keep; tensor v: f32[9,12,10]\n"
     "v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k] + u[i,j+1,k]"
     " + u[i,j,k-1] + u[i,j,k+1])"},
    {"steps that keep",
     "tensor u: f32[13,15] outside keep; tensor v: f32[13,15]; steps 5 (u = v)\n"
     "v[i,j] = 0.6*u[i,j] + 0.1*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])"},
    {"steps between layouts",
     "tensor u: f32[13,15] strides[20,1] outside zero; tensor v: f32[13,15]; steps 4 (u = v)\n"
     "v[i,j] = 0.6*u[i,j] + 0.1*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])"},
    {"leapfrog",
     "tensor p: f64[40]; tensor u: f64[40] outside wrap; tensor v: f64[40]\n"
     "steps 7 (p = u, u = v)\n"
     "v[i] = 2*u[i] - p[i] + 0.25*(u[i-1] - 2*u[i] + u[i+1])"},
    {"gather",
     "tensor W: f32[7,19] outside zero; tensor idx: i32[12]; tensor y: f32[12,19]\n"
     "y[i,j] = W[idx[i],j]"},
    {"gather that clamps and keeps",
     "tensor W: f32[7] outside clamp; tensor V: f32[7] outside keep; tensor idx: i32[12]\n"
     "tensor y: f32[12]; tensor z: f32[12]\n"
     "y[i] = W[idx[i]]; z[i] = V[idx[i]] * 2"},
    {"cross entropy",
     "tensor x: f32[6,10] outside zero; tensor t: i32[6]; tensor y: f32[]\n"
     "m[i] = max(j: x[i,j]); l[i] = m[i] + log(sum(j: exp(x[i,j]-m[i])))\n"
     "y = mean(i: l[i] - x[i,t[i]])"},
    {"cumulative sum", "tensor x: f32[5,23]; tensor y: f32[5,23]\ny[i,j] = cumsum(j: x[i,j])"},
    {"reversed exclusive columns",
     "tensor x: f32[12,9]; tensor y: f32[12,9]\ny[i,j] = cumsum(reverse exclusive i: x[i,j])"},
    {"masked cumulative product",
     "tensor x: f32[5,11]; tensor m: bool[5,11]; tensor y: f32[5,11]\n"
     "y[i,j] = cumprod(j: select(m[i,j], x[i,j], 1)) + cumsum(reverse j: x[i,j])"},
    {"scan over a wide read",
     "tensor x: f32[4,15] outside zero; tensor y: f32[4,15]\n"
     "y[i,j] = cumsum(j: x[i,j-2]) + cumsum(i: x[i-1,j])"},
    {"kept scan",
     "tensor x: f32[4,15] outside keep; tensor y: f32[4,15]\n"
     "y[i,j] = cumsum(reverse j: x[i,j+1])"},
    {"reduction of a scan",
     "tensor x: f32[8,9]; tensor y: f32[9]\ny[j] = sum(i: cumsum(j: x[i,j]) * x[i,j])"},
    {"keep behind a select",
     "tensor x: f32[16] outside keep; tensor y: f32[16]\n"
     "y[i] = select(i < 8, x[i-1], sum(k<3: x[i+k-1]))"},
    {"attention",
     "tensor Q: f32[2,7,8]; tensor K: f32[2,9,8]; tensor V: f32[2,9,8]; tensor O: f32[2,7,8]\n"
     "s[b,i,j] = sum(d: Q[b,i,d] * K[b,j,d]) * 0.35; m[b,i] = max(j: s[b,i,j])\n"
     "p[b,i,j] = exp(s[b,i,j] - m[b,i]); z[b,i] = sum(j: p[b,i,j])\n"
     "O[b,i,d] = sum(j: p[b,i,j] * V[b,j,d]) / z[b,i]"},
    {"group norm",
     "tensor x: f32[2,3,4,5,6]; tensor y: f32[2,3,4,5,6]\n"
     "m[n,g] = mean(c, h, w: x[n,g,c,h,w])\n"
     "v[n,g] = mean(c, h, w: (x[n,g,c,h,w] - m[n,g])^2)\n"
     "y[n,g,c,h,w] = (x[n,g,c,h,w] - m[n,g]) * rsqrt(v[n,g] + 0.00001)"},
    {"batch norm over channels last",
     "tensor x: f32[30,12]; tensor y: f32[30,12]\n"
     "m[c] = mean(i: x[i,c]); v[c] = mean(i: (x[i,c] - m[c])^2)\n"
     "y[i,c] = (x[i,c] - m[c]) * rsqrt(v[c] + 0.00001)"},
    {"frobenius norm",
     "tensor x: f32[30,12]; tensor y: f32[30,12]\n"
     "y[i,j] = x[i,j] / sqrt(sum(a, b: x[a,b] * x[a,b]))"},
    {"exact sums",
     "tensor x: f32[6,45]; tensor y: f32[6]; contract arithmetic=exact\n"
     "y[i] = sum(j: x[i,j])"},
    {"nothing",
     "tensor x: f32[0,4]; tensor y: f32[0,4]; tensor z: f32[4]\n"
     "y[i,j] = x[i,j] * 2; z[j] = sum(i: x[i,j])"},
};

}  // namespace hiera::testing

#endif  // HIERA_TESTS_UNIT_POLICIES_FORMULA_CASES_H_
