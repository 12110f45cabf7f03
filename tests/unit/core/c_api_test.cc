// What the C API says of wrong arguments: the status, and a message that names the field.
#include <gtest/gtest.h>

#include <string>

#include "hiera/hiera.h"

namespace {

using testing::Test;

hiera_status Nothing(void*, void* const*, const double*, void*) { return HIERA_OK; }
hiera_status Fails(void*, void* const*, const double*, void*) { return HIERA_DEVICE_ERROR; }

// Baselines of our own keep these tests about arguments alone.
hiera_formula FormulaOf(const char* text, const hiera_tensor* tensors, uint32_t count) {
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = text;
  formula.tensors = tensors;
  formula.tensor_count = count;
  formula.baseline = Nothing;
  return formula;
}

class CApiTest : public Test {
 protected:
  void SetUp() override {
    hiera_config config = HIERA_CONFIG_INIT;
    config.mode = HIERA_MODE_OFF;
    ASSERT_EQ(hiera_engine_create(&config, &engine_), HIERA_OK) << hiera_last_error();
  }
  void TearDown() override { hiera_engine_destroy(engine_); }

  void ExpectRefused(const hiera_formula& formula, const std::string& part) {
    hiera_op* op = nullptr;
    EXPECT_EQ(hiera_op_create(engine_, &formula, &op), HIERA_INVALID_ARGUMENT) << part;
    EXPECT_EQ(op, nullptr) << "outputs are written only on success";
    EXPECT_NE(std::string(hiera_last_error()).find(part), std::string::npos)
        << "\"" << hiera_last_error() << "\" does not say \"" << part << "\"";
  }
  void ExpectTensorRefused(hiera_tensor x, const std::string& part) {
    const hiera_tensor tensors[] = {x, {"y", HIERA_F32, 1, {4}, {0}, 0, 0}};
    ExpectRefused(FormulaOf("y[i] = x[i]", tensors, 2), part);
  }
  void ExpectConfigRefused(const hiera_config& config, hiera_status status,
                           const std::string& part) {
    hiera_engine* engine = nullptr;
    EXPECT_EQ(hiera_engine_create(&config, &engine), status);
    EXPECT_EQ(engine, nullptr);
    EXPECT_NE(std::string(hiera_last_error()).find(part), std::string::npos) << hiera_last_error();
  }

  hiera_engine* engine_ = nullptr;
  const hiera_tensor good_[2] = {{"x", HIERA_F32, 1, {4}, {0}, 0, 0},
                                 {"y", HIERA_F32, 1, {4}, {0}, 0, 0}};
};

TEST_F(CApiTest, ConfigurationsNameTheFieldAtFault) {
  hiera_config config = HIERA_CONFIG_INIT;
  config.mode = 17;
  ExpectConfigRefused(config, HIERA_INVALID_ARGUMENT, "hiera_config.mode is 17");
  config = HIERA_CONFIG_INIT;
  config.device = "abacus";
  ExpectConfigRefused(config, HIERA_INVALID_ARGUMENT, "hiera_config.device is \"abacus\"");
  // No machine has so many; most that run this test have none.
  config.device = "cuda:1000";
  ExpectConfigRefused(config, HIERA_UNSUPPORTED, "hiera_config.device is \"cuda:1000\": ");
  config = HIERA_CONFIG_INIT;
  config.threads = 1000000;
  ExpectConfigRefused(config, HIERA_INVALID_ARGUMENT, "hiera_config.threads is 1000000");
  config = HIERA_CONFIG_INIT;
  config.struct_size = 0;
  ExpectConfigRefused(config, HIERA_INVALID_ARGUMENT, "hiera_config.struct_size is 0");
}

TEST_F(CApiTest, EveryNullIsNamed) {
  hiera_op* op = nullptr;
  hiera_formula formula = FormulaOf("y[i] = x[i]", good_, 2);
  const auto says = [](const char* part) {
    return std::string(hiera_last_error()).find(part) != std::string::npos;
  };
  EXPECT_EQ(hiera_engine_create(nullptr, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("engine_out is NULL"));
  EXPECT_EQ(hiera_op_create(nullptr, &formula, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("engine is NULL"));
  EXPECT_EQ(hiera_op_create(engine_, nullptr, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("hiera_formula is NULL"));
  EXPECT_EQ(hiera_op_create(engine_, &formula, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("op_out is NULL"));
  EXPECT_EQ(hiera_op_create_gemm(engine_, nullptr, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_op_create_conv(engine_, nullptr, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_op_create_stencil(engine_, nullptr, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_op_run(nullptr, nullptr, nullptr, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("op is NULL"));
  EXPECT_EQ(hiera_op_reference(nullptr, nullptr, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_op_settle(nullptr, 0), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_op_get_info(nullptr, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_op_explain(nullptr, nullptr, 0, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_engine_stats(nullptr, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(hiera_engine_stats(engine_, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("hiera_stats is NULL"));

  formula.text = nullptr;
  ExpectRefused(formula, "text");
  formula = FormulaOf("y[i] = x[i]", nullptr, 2);
  ExpectRefused(formula, "tensors");
  formula = FormulaOf("y[i] = x[i]", good_, 2);
  formula.scalar_count = 1;
  ExpectRefused(formula, "scalars");
  ExpectTensorRefused({nullptr, HIERA_F32, 1, {4}, {0}, 0, 0}, "name");
}

TEST_F(CApiTest, LayoutsThatCannotBeAreRefusedByName) {
  ExpectTensorRefused({"x", 0, 1, {4}, {0}, 0, 0}, "dtype");
  ExpectTensorRefused({"x", 99, 1, {4}, {0}, 0, 0}, "dtype");
  ExpectTensorRefused({"x", HIERA_F32, 9, {4}, {0}, 0, 0}, "rank");
  ExpectTensorRefused({"x", HIERA_F32, 1, {-1}, {0}, 0, 0}, "extent");
  ExpectTensorRefused({"x", HIERA_F32, 1, {4}, {-1}, 0, 0}, "stride");
  ExpectTensorRefused({"x", HIERA_F32, 1, {INT64_MAX}, {0}, 0, 0}, "x");
  ExpectTensorRefused({"x", HIERA_F32, 2, {INT64_MAX / 2, 4}, {0}, 0, 0}, "x");
  ExpectTensorRefused({"x", HIERA_F32, 1, {4}, {INT64_MAX / 2}, 0, 0}, "x");
  ExpectTensorRefused({"x", HIERA_F32, 1, {4}, {0}, 77, 0}, "outside");
  ExpectTensorRefused({"x", HIERA_F32, 1, {4}, {0}, 0, 1}, "reserved");
  ExpectTensorRefused({"x", HIERA_F32, 1, {3}, {0}, 0, 0}, "x");  // y reads past its end
}

TEST_F(CApiTest, FormulasSayWhereTheyAreWrong) {
  ExpectRefused(FormulaOf("y[i] = x[i", good_, 2), "line 1, column");
  ExpectRefused(FormulaOf("y[i] = q[i]", good_, 2), "q");
  ExpectRefused(FormulaOf("", good_, 2), "");
  hiera_formula formula = FormulaOf("y[i] = x[i]", good_, 2);
  formula.reserved = 3;
  ExpectRefused(formula, "reserved");
  formula = FormulaOf("y[i] = x[i]", good_, 2);
  hiera_contract contract = HIERA_CONTRACT_INIT;
  contract.arithmetic = 9;
  formula.contract = &contract;
  ExpectRefused(formula, "arithmetic");
  contract = HIERA_CONTRACT_INIT;
  contract.alignment = 12;
  ExpectRefused(formula, "alignment");
  contract = HIERA_CONTRACT_INIT;
  contract.struct_size = 3;
  ExpectRefused(formula, "hiera_contract.struct_size is 3");
  const hiera_tensor overlapping[] = {{"x", HIERA_F32, 2, {4, 4}, {0}, 0, 0},
                                      {"y", HIERA_F32, 2, {4, 4}, {1, 1}, 0, 0}};
  ExpectRefused(FormulaOf("y[i,j] = x[i,j]", overlapping, 2), "y");
}

TEST_F(CApiTest, DescriptorsNameTheFieldAtFault) {
  hiera_op* op = nullptr;
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = HIERA_F32;
  gemm.m = gemm.n = 8;
  gemm.k = -8;
  EXPECT_EQ(hiera_op_create_gemm(engine_, &gemm, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(hiera_last_error()).find("k"), std::string::npos) << hiera_last_error();
  gemm.k = 8;
  gemm.lda = 3;
  EXPECT_EQ(hiera_op_create_gemm(engine_, &gemm, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(hiera_last_error()).find("lda"), std::string::npos) << hiera_last_error();
  hiera_conv conv = HIERA_CONV_INIT;
  conv.dtype = HIERA_F32;
  conv.spatial_rank = 4;
  EXPECT_EQ(hiera_op_create_conv(engine_, &conv, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(hiera_last_error()).find("spatial_rank"), std::string::npos)
      << hiera_last_error();
  hiera_stencil stencil = HIERA_STENCIL_INIT;
  stencil.dtype = HIERA_F32;
  stencil.rank = 2;
  stencil.extent[0] = stencil.extent[1] = 8;
  stencil.point_count = 3;
  EXPECT_EQ(hiera_op_create_stencil(engine_, &stencil, &op), HIERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(hiera_last_error()).find("points"), std::string::npos)
      << hiera_last_error();
  EXPECT_EQ(op, nullptr);
}

TEST_F(CApiTest, RunsCheckTheirArguments) {
  const hiera_tensor tensors[] = {{"x", HIERA_F32, 1, {4}, {0}, 0, 0},
                                  {"nil", HIERA_F32, 1, {0}, {0}, 0, 0},
                                  {"y", HIERA_F32, 1, {4}, {0}, 0, 0}};
  const hiera_scalar scalars[] = {
      {"a", HIERA_SCALAR_ANY, 0}, {"b", HIERA_SCALAR_ONE, 0}, {"c", HIERA_SCALAR_ZERO, 0}};
  hiera_formula formula = FormulaOf("y[i] = a*b*x[i] + c*sum(k: nil[k])", tensors, 3);
  formula.scalars = scalars;
  formula.scalar_count = 3;
  hiera_op* op = nullptr;
  ASSERT_EQ(hiera_op_create(engine_, &formula, &op), HIERA_OK) << hiera_last_error();
  float x[4] = {1}, y[4];
  void* pointers[] = {x, nullptr, y};
  double values[] = {5, 1, 0};
  EXPECT_EQ(hiera_op_run(op, pointers, values, nullptr), HIERA_OK)
      << "an empty tensor may be NULL: " << hiera_last_error();
  const auto refused = [&](const char* part) {
    EXPECT_EQ(hiera_op_run(op, pointers, values, nullptr), HIERA_INVALID_ARGUMENT);
    EXPECT_NE(std::string(hiera_last_error()).find(part), std::string::npos) << hiera_last_error();
    EXPECT_EQ(hiera_op_reference(op, pointers, values), HIERA_INVALID_ARGUMENT);
  };
  pointers[2] = nullptr;
  refused("pointers[2] (tensor y) is NULL");
  pointers[2] = y;
  values[1] = 2;
  refused("scalars[1] (b) is 2");
  values[1] = 1;
  values[2] = 1;
  refused("scalars[2] (c) is 1");
  EXPECT_EQ(hiera_op_run(op, pointers, nullptr, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(hiera_last_error()).find("scalars is NULL"), std::string::npos);
  EXPECT_EQ(hiera_op_run(op, nullptr, values, nullptr), HIERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(hiera_last_error()).find("pointers is NULL"), std::string::npos);
  hiera_op_destroy(op);
}

TEST_F(CApiTest, ABaselinesStatusIsTheRunsStatus) {
  hiera_formula formula = FormulaOf("y[i] = x[i]", good_, 2);
  formula.baseline = Fails;
  hiera_op* op = nullptr;
  ASSERT_EQ(hiera_op_create(engine_, &formula, &op), HIERA_OK);
  float x[4], y[4];
  void* pointers[] = {x, y};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(hiera_op_run(op, pointers, nullptr, nullptr), HIERA_DEVICE_ERROR);
  }
  EXPECT_NE(std::string(hiera_last_error()).find("caller answered with status 5 (device error)"),
            std::string::npos)
      << hiera_last_error();
  hiera_op_destroy(op);
}

TEST_F(CApiTest, AnEngineDestroyedTooEarlyIsKeptUntilItsLastOperatorGoes) {
  hiera_config config = HIERA_CONFIG_INIT;
  config.mode = HIERA_MODE_OFF;
  hiera_engine* engine = nullptr;
  ASSERT_EQ(hiera_engine_create(&config, &engine), HIERA_OK);
  hiera_formula formula = FormulaOf("y[i] = x[i]", good_, 2);
  hiera_op* op = nullptr;
  ASSERT_EQ(hiera_op_create(engine, &formula, &op), HIERA_OK);
  std::string said;
  hiera_set_log(
      [](void* user, uint32_t level, const char* text) {
        if (level == HIERA_LOG_ERROR) *static_cast<std::string*>(user) += text;
      },
      &said);
  hiera_engine_destroy(engine);
  hiera_set_log(nullptr, nullptr);
  EXPECT_NE(said.find("1 operators are left"), std::string::npos) << said;
  float x[4], y[4];
  void* pointers[] = {x, y};
  EXPECT_EQ(hiera_op_run(op, pointers, nullptr, nullptr), HIERA_OK);
  hiera_op_destroy(op);
}

}  // namespace
