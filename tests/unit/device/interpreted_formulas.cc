#include "tests/unit/device/interpreted_formulas.h"

#include <cstdio>

#include "tests/unit/task/operator_catalogue.h"

namespace hiera {
namespace {

using Fill = InterpretedCase::Fill;

void Pointwise(const FormulaVisit& Check) {
  Check("tensor x: f32[7,1000]\ntensor y: f32[7,1000]\ny[i,j] = 2*x[i,j] + 1");
  Check(
      "tensor x: f64[3,5,301]\ntensor y: f64[3,5,301]\ny[i,j,k] = x[i,j,k]*x[i,j,k] - x[i,j,k]/3");
  Check("tensor x: f32[]\ntensor y: f32[]\ny = x + 1");
  Check("tensor x: f32[0,5]\ntensor y: f32[0,5]\ny[i,j] = x[i,j] + 1");
  for (const char* f :
       {"exp", "sin", "cos", "tanh", "erf", "sigmoid", "relu", "gelu", "silu", "floor", "abs"}) {
    Check(std::string("tensor x: f32[5,777]\ntensor y: f32[5,777]\ny[i,j] = ") + f + "(3*x[i,j])");
    Check(std::string("tensor x: f64[1000]\ntensor y: f64[1000]\ny[i] = ") + f + "(x[i])");
    Check(std::string("tensor x: f32[1000]\ntensor y: f32[1000]\ny[i] = ") + f + "(x[i])",
          Fill::kSpecial);
  }
  for (const char* f : {"log", "sqrt", "rsqrt"}) {
    for (const char* type : {"f32", "f64"}) {
      Check(std::string("tensor x: ") + type + "[999]\ntensor y: " + type + "[999]\ny[i] = " + f +
                "(x[i])",
            Fill::kPositive);
    }
  }
  Check("tensor x: f32[999]\ntensor y: f32[999]\ny[i] = x[i]^1.5 + x[i]^2 + 2^x[i]",
        Fill::kPositive);
}

void TypesAndConversions(const FormulaVisit& Check) {
  for (const char* type : {"f16", "bf16", "f32", "f64"}) {
    const std::string t = type;
    Check("tensor x: " + t + "[3,517]\ntensor y: " + t + "[3,517]\ny[i,j] = x[i,j]*1.25 + 0.1");
    Check("tensor x: " + t + "[3,517]\ntensor y: f32[3,517]\ny[i,j] = x[i,j]*1.25 + 0.1",
          Fill::kSpecial);
  }
  Check(
      "tensor x: f64[300]\ntensor y: f16[300]\ntensor z: bf16[300]\ny[i] = x[i]/3\nz[i] = x[i]/7");
  Check("tensor n: i32[300]\ntensor m: i32[300]\nm[i] = (3*n[i] - 7) % 5 + max(n[i], 2)");
  Check("tensor n: i32[300]\ntensor m: i32[300]\nm[i] = abs(n[i])*i - min(n[i], -i)");
  Check(
      "tensor a: bool[300]\ntensor b: bool[300]\ntensor c: bool[300]\n"
      "c[i] = (a[i] and not b[i]) or (a[i] == b[i])");
  Check("tensor x: f32[300]\ntensor c: bool[300]\nc[i] = x[i] < 0.5 and x[i] >= -0.5");
  Check(
      "tensor x: f32[300]\ntensor c: bool[300]\ntensor y: f32[300]\n"
      "y[i] = select(c[i], x[i], -2*x[i])");
}

void StridesAndOrders(const FormulaVisit& Check) {
  Check(
      "tensor x: f32[40,70] strides [100,1]\ntensor y: f32[40,70] strides [1,48]\n"
      "y[i,j] = x[i,j] + 1");
  Check("tensor x: f32[70,40]\ntensor y: f32[40,70]\ny[i,j] = x[j,i]");
  Check("tensor x: f32[70]\ntensor z: f32[40]\ntensor y: f32[40,70]\ny[i,j] = x[j]*z[i]");
  Check("tensor x: f32[100] strides [0]\ntensor y: f32[100] strides [3]\ny[i] = x[i]");
  Check("tensor x: f32[9,8,7,6]\ntensor y: f32[6,8,9,7]\ny[a,b,c,d] = x[c,b,d,a]*2");
  Check("tensor x: f32[200]\ntensor y: f32[100]\ny[i] = x[2*i+1] - x[199-2*i]");
}

void Gemm(const FormulaVisit& Check) {
  for (const char* type : {"f32", "f64", "f16"}) {
    const std::string t = type;
    for (const char* shape : {"5,7,3", "64,64,64", "33,140,60", "1,50,70", "50,1,70", "130,17,1"}) {
      int m = 0, n = 0, k = 0;
      if (std::sscanf(shape, "%d,%d,%d", &m, &n, &k) != 3) continue;
      const auto dims = [](int a, int b) {
        return "[" + std::to_string(a) + "," + std::to_string(b) + "]";
      };
      const std::string tail = "\ntensor C: " + t + dims(m, n) + "\nscalar alpha\nscalar beta\n";
      Check("tensor A: " + t + dims(m, k) + "\ntensor B: " + t + dims(k, n) + tail +
            "C[i,j] = alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j]");
      Check("tensor A: " + t + dims(k, m) + "\ntensor B: " + t + dims(n, k) + tail +
            "C[i,j] = alpha*sum(k: A[k,i]*B[j,k])");
    }
  }
  Check(
      "tensor A: f32[3,20,30]\ntensor B: f32[3,30,40]\ntensor c: f32[40]\ntensor C: f32[3,20,40]\n"
      "C[b,i,j] = gelu(sum(k: A[b,i,k]*B[b,k,j]) + c[j])");
  Check(
      "tensor A: f32[20,30]\ntensor B: f32[30,40]\ntensor C: f32[20,40]\n"
      "C[i,j] = mean(k: A[i,k]*B[k,j])",
      Fill::kSpecial);
  Check("tensor A: f32[60,300]\ntensor x: f32[300]\ntensor y: f32[60]\ny[i] = sum(k: A[i,k]*x[k])");
  Check("tensor A: f32[300,60]\ntensor x: f32[300]\ntensor y: f32[60]\ny[i] = sum(k: A[k,i]*x[k])");
  Check(
      "contract arithmetic=exact\ntensor A: f32[20,130]\ntensor B: f32[130,40]\n"
      "tensor C: f32[20,40]\nC[i,j] = sum(k: A[i,k]*B[k,j])");
}

void Convolutions(const FormulaVisit& Check) {
  Check(
      "tensor X: f32[2,3,12,13] outside zero\ntensor W: f32[5,3,3,3]\ntensor Y: f32[2,5,12,13]\n"
      "Y[n,f,y,x] = sum(c,r,s: X[n,c,y+r-1,x+s-1]*W[f,c,r,s])");
  Check(
      "tensor X: f32[2,3,12,13] outside zero\ntensor W: f32[5,3,3,3]\ntensor Y: f32[2,5,6,7]\n"
      "Y[n,f,y,x] = sum(c,r,s: X[n,c,2*y+r-1,2*x+s-1]*W[f,c,r,s])",
      Fill::kSpecial);
  Check(
      "tensor X: f32[2,6,40] outside zero\ntensor W: f32[6,5]\ntensor Y: f32[2,6,40]\n"
      "Y[n,c,x] = sum(s: X[n,c,x+2*s-4]*W[c,s])");
  Check(
      "tensor X: f32[2,12,12,6] outside zero\ntensor W: f32[8,3,3,6]\ntensor b: f32[8]\n"
      "tensor Y: f32[2,12,12,8]\n"
      "Y[n,y,x,f] = relu(sum(c,r,s: X[n,y+r-1,x+s-1,c]*W[f,r,s,c]) + b[f])");
  Check(
      "tensor X: f32[2,4,5,6] outside zero\ntensor W: f32[4,3,3,3]\ntensor Y: f32[2,3,11,13]\n"
      "Y[n,f,y,x] = sum(c,r,s: X[n,c,(y+1-r)/2,(x+1-s)/2]*W[c,f,r,s])");
  Check(
      "tensor X: f16[1,3,9,9,9] outside zero\ntensor W: f16[2,3,3,3,3]\n"
      "tensor Y: f16[1,2,9,9,9]\n"
      "Y[n,f,z,y,x] = sum(c,q,r,s: X[n,c,z+q-1,y+r-1,x+s-1]*W[f,c,q,r,s])");
}

void StencilsUnderEveryRule(const FormulaVisit& Check) {
  for (const char* rule : {"zero", "clamp", "wrap", "keep"}) {
    for (const char* extents : {"[300]", "[3]", "[1]"}) {
      const std::string e = extents;
      Check("tensor u: f32" + e + " outside " + rule + "\ntensor v: f32" + e +
            "\nv[i] = 0.5*u[i] + 0.25*(u[i-1] + u[i+1]) + 0.1*u[i+2]");
    }
    for (const char* extents : {"[20,300]", "[5,7]", "[1,2]"}) {
      const std::string e = extents;
      Check("tensor u: f64" + e + " outside " + rule + "\ntensor v: f64" + e +
            "\nv[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])");
    }
    Check(std::string("tensor u: f32[8,9,40] outside ") + rule +
          "\ntensor w: f32[3,3,3]\ntensor v: f32[8,9,40]\n"
          "v[i,j,k] = sum(a,b,c: u[i+a-1,j+b-1,k+c-1]*w[a,b,c])");
    Check(std::string("tensor u: f32[30,31] outside ") + rule +
          "\ntensor v: f32[30,31]\nv[i,j] = max(r<3,s<3: u[i+r-1,j+s-1])");
    Check(std::string("tensor u: f32[30,31] outside ") + rule +
          "\ntensor v: f32[30,31]\nv[i,j] = select(u[i,j] < 0, u[i-1,j], u[i,j+1]*2)");
    Check(std::string("tensor u: f32[31] outside ") + rule +
          "\ntensor n: i32[40]\ntensor v: f32[40]\nv[i] = u[n[i]] + 1");
  }
}

void Steps(const FormulaVisit& Check) {
  for (const char* rule : {"zero", "clamp", "wrap", "keep"}) {
    for (const char* steps : {"1", "2", "3", "8"}) {
      Check(std::string("tensor u: f32[20,70] outside ") + rule +
            "\ntensor v: f32[20,70]\n"
            "v[i,j] = 0.6*u[i,j] + 0.1*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])\nsteps " +
            steps + " (u = v)");
    }
    Check(std::string("tensor u: f32[50] outside ") + rule + "\ntensor p: f32[50] outside " + rule +
          "\ntensor v: f32[50]\nv[i] = 2*u[i] - p[i] + 0.25*(u[i-1] - 2*u[i] + u[i+1])\n"
          "steps 7 (p = u, u = v)");
  }
  Check(
      "tensor u: f32[20,70] strides [80,1] outside keep\ntensor v: f32[20,70] strides [1,32]\n"
      "v[i,j] = 0.5*(u[i-1,j] + u[i+1,j])\nsteps 5 (u = v)");
}

void Reductions(const FormulaVisit& Check) {
  for (const char* r : {"sum", "max", "min", "prod", "mean"}) {
    const std::string f = r;
    Check("tensor x: f32[30,500]\ntensor y: f32[30]\ny[i] = " + f + "(j: x[i,j])", Fill::kPositive);
    Check("tensor x: f32[500,30]\ntensor y: f32[30]\ny[i] = " + f + "(j: x[j,i])", Fill::kPositive);
    Check("tensor x: f64[40,50,60]\ntensor y: f64[50]\ny[i] = " + f + "(a,b: x[a,i,b])");
    Check("tensor x: f32[70000]\ntensor y: f32[]\ny = " + f + "(j: 1 + 0.0001*x[j])");
    Check("tensor x: f32[30,500]\ntensor y: f32[30]\ny[i] = " + f + "(j: x[i,j])", Fill::kSpecial);
    Check("tensor x: f32[4,6,10]\ntensor y: f32[4,6,10]\ny[i,j,k] = x[i,j,k] - " + f +
          "(a,b: x[i,a,b])");
  }
  for (const char* r : {"argmax", "argmin"}) {
    const std::string f = r;
    Check("tensor x: f32[30,500]\ntensor y: i32[30]\ny[i] = " + f + "(j: x[i,j])");
    Check("tensor x: f32[500,30]\ntensor y: i32[30]\ny[i] = " + f + "(j: x[j,i])");
    Check("tensor x: f32[30,500]\ntensor y: i32[30]\ny[i] = " + f + "(j: x[i,j])", Fill::kSpecial);
    Check("tensor n: i32[30,500]\ntensor y: i32[30]\ny[i] = " + f + "(j: n[i,j])");
  }
  for (const char* r : {"any", "all"}) {
    Check(std::string("tensor x: bool[30,5]\ntensor y: bool[30]\ny[i] = ") + r + "(j: x[i,j])");
  }
  Check("tensor n: i32[30,500]\ntensor y: i32[30]\ny[i] = sum(j: n[i,j]*j) + max(j: n[i,j])");
  Check("tensor x: f32[9,0]\ntensor y: f32[9]\ny[i] = sum(j: x[i,j]) + 2");
  Check(
      "contract arithmetic=exact\ntensor x: f32[30,500]\ntensor y: f32[30]\n"
      "y[i] = sum(j: x[i,j]) + prod(j: 1 + 0.001*x[i,j])");
  Check(
      "tensor A: f32[20,30]\ntensor B: f32[30,25]\ntensor y: f32[20]\n"
      "y[i] = sum(j: abs(sum(k: A[i,k]*B[k,j])))");
}

void RowWise(const FormulaVisit& Check) {
  const std::string head = "tensor x: f32[13,300]\ntensor y: f32[13,300]\n";
  Check(head + "y[i,j] = exp(x[i,j] - max(k: x[i,k])) / sum(k: exp(x[i,k] - max(l: x[i,l])))");
  Check(head +
        "m[i] = max(j: x[i,j])\ne[i,j] = exp(x[i,j] - m[i])\n"
        "y[i,j] = e[i,j] / sum(k: e[i,k])");
  Check(head +
        "m[i] = mean(j: x[i,j])\nv[i] = mean(j: (x[i,j] - m[i])^2)\n"
        "y[i,j] = (x[i,j] - m[i])*rsqrt(v[i] + 0.00001)");
  Check(
      "tensor x: f32[4,5,6,7]\ntensor y: f32[4,5,6,7]\n"
      "y[n,c,h,w] = (x[n,c,h,w] - mean(a,b,d: x[a,c,b,d])) / sum(a,b,d: x[a,c,b,d]^2)");
  Check(
      "tensor Q: f32[2,16,8]\ntensor K: f32[2,16,8]\ntensor V: f32[2,16,8]\n"
      "tensor O: f32[2,16,8]\ns[b,i,j] = sum(d: Q[b,i,d]*K[b,j,d])\n"
      "p[b,i,j] = exp(s[b,i,j] - max(k: s[b,i,k]))\n"
      "O[b,i,d] = sum(j: p[b,i,j]*V[b,j,d]) / sum(j: p[b,i,j])");
}

void ScansAndGathers(const FormulaVisit& Check) {
  for (const char* scan : {"cumsum(j: ", "cumsum(reverse j: ", "cumprod(exclusive j: ",
                           "cumsum(i: ", "cumsum(reverse exclusive i: "}) {
    Check(std::string("tensor x: f32[30,60]\ntensor y: f32[30,60]\ny[i,j] = ") + scan + "x[i,j])");
    Check(std::string("tensor x: f64[30,60]\ntensor c: bool[30,60]\ntensor y: f64[30,60]\n"
                      "y[i,j] = 2*") +
          scan + "select(c[i,j], x[i,j], 1))");
  }
  Check("tensor n: i32[30,60]\ntensor y: i32[30,60]\ny[i,j] = cumsum(j: n[i,j])");
  Check(
      "tensor W: f32[7,30] outside clamp\ntensor n: i32[50]\ntensor y: f32[50,30]\n"
      "y[i,j] = W[n[i],j]");
  Check(
      "tensor x: f32[50,8] outside zero\ntensor n: i32[50]\ntensor y: f32[]\n"
      "y = mean(i: -x[i,n[i]])");
}

void EveryKindOfTheCatalogue(const FormulaVisit& Check) {
  for (const CatalogueEntry& entry : kOperatorCatalogue) {
    Check(entry.text, Fill::kPositive);
    Check(entry.text, Fill::kNormal);
  }
}

void InPlaceAndScalars(const FormulaVisit& Check) {
  Check("tensor x: f32[30,60]\ntensor y: f32[30,60]\nscalar a\ny[i,j] = a*x[i,j] + y[i,j]");
  Check("tensor y: f32[3000]\nscalar a\ny[i] = a*y[i] - 1");
  Check("tensor y: f64[3000]\nscalar a = 0\nscalar b = 1\ny[i] = a*y[i] + b*2");
}

}  // namespace

const std::vector<FormulaGroup>& FormulaGroups() {
  static const std::vector<FormulaGroup>& groups = *new std::vector<FormulaGroup>{
      {"Pointwise", Pointwise},
      {"TypesAndConversions", TypesAndConversions},
      {"StridesAndOrders", StridesAndOrders},
      {"Gemm", Gemm},
      {"Convolutions", Convolutions},
      {"StencilsUnderEveryRule", StencilsUnderEveryRule},
      {"Steps", Steps},
      {"Reductions", Reductions},
      {"RowWise", RowWise},
      {"ScansAndGathers", ScansAndGathers},
      {"EveryKindOfTheCatalogue", EveryKindOfTheCatalogue},
      {"InPlaceAndScalars", InPlaceAndScalars},
  };
  return groups;
}

}  // namespace hiera
