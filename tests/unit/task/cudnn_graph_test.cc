// Convolutions as graphs of cuDNN's backend, and its engines as text.
#include "runtime/task/cudnn_graph.h"

#include <gtest/gtest.h>

#include "hiera/hiera.h"
#include "runtime/task/constructors.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

std::string Graph(const Task& task) {
  const Result<CudnnGraph> graph = CudnnGraphOf(task);
  return graph.ok() ? graph->Text() : "refused: " + graph.status().message();
}

std::string Graph(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return Graph(*task);
}

hiera_conv Conv(bool channels_last) {
  hiera_conv conv = HIERA_CONV_INIT;
  conv.dtype = HIERA_F16;
  conv.spatial_rank = 2;
  conv.channels_last = channels_last ? 1 : 0;
  conv.n = 8;
  conv.c = 16;
  conv.f = 32;
  conv.input[0] = 10;
  conv.input[1] = 12;
  conv.kernel[0] = 3;
  conv.kernel[1] = 5;
  conv.pad_begin[0] = conv.pad_end[0] = 1;
  conv.pad_begin[1] = 2;
  conv.pad_end[1] = 1;
  return conv;
}

std::string Made(const hiera_conv& conv) {
  const Result<Task> task = MakeConv(conv);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return Graph(*task);
}

TEST(CudnnGraphTest, ChannelsFirst) {
  EXPECT_EQ(Made(Conv(false)),
            "cudnn_conv compute=f32 type=f16 x=t0:8,16,10,12:1920,120,12,1 "
            "w=t1:32,16,3,5:240,15,5,1 y=t2:8,32,10,11:3520,110,11,1 pad=1,2:1,1 stride=1,1 "
            "dilation=1,1 align=2");
}

TEST(CudnnGraphTest, ChannelsLastWithEverything) {
  hiera_conv conv = Conv(true);
  conv.stride[0] = 2;
  conv.dilation[1] = 2;
  conv.has_bias = 1;
  conv.activation = HIERA_ACTIVATION_GELU;
  EXPECT_EQ(Made(conv),
            "cudnn_conv compute=f32 type=f16 x=t0:8,16,10,12:1920,1,192,16 "
            "w=t1:32,16,3,5:240,1,80,16 y=t2:8,32,5,7:1120,1,224,32 pad=1,2:1,1 stride=2,1 "
            "dilation=1,2 bias=t3:1,32,1,1:32,1,32,32 then=gelu align=2");
}

TEST(CudnnGraphTest, GroupsAreJoinedWithTheChannels) {
  hiera_conv conv = Conv(false);
  conv.groups = 4;
  EXPECT_EQ(Made(conv),
            "cudnn_conv compute=f32 type=f16 x=t0:8,16,10,12:1920,120,12,1 "
            "w=t1:32,4,3,5:60,15,5,1 y=t2:8,32,10,11:3520,110,11,1 pad=1,2:1,1 stride=1,1 "
            "dilation=1,1 align=2");
  conv.groups = 16;  // depthwise, two filters a channel
  conv.channels_last = 1;
  EXPECT_EQ(Made(conv),
            "cudnn_conv compute=f32 type=f16 x=t0:8,16,10,12:1920,1,192,16 "
            "w=t1:32,1,3,5:15,1,5,1 y=t2:8,32,10,11:3520,1,352,32 pad=1,2:1,1 stride=1,1 "
            "dilation=1,1 align=2");
}

TEST(CudnnGraphTest, OneSpatialAxisGetsAnother) {
  EXPECT_EQ(
      Graph("tensor X: f32[2,3,20] outside zero; tensor W: f32[4,3,5]; tensor Y: f32[2,4,20]\n"
            "Y[n,f,x] = sum(c,r: X[n,c,x+r-2]*W[f,c,r])"),
      "cudnn_conv compute=f32 type=f32 x=t0:2,3,1,20:60,20,20,1 w=t1:4,3,1,5:15,5,5,1 "
      "y=t2:2,4,1,20:80,20,20,1 pad=0,2:0,2 stride=1,1 dilation=1,1 align=4");
}

TEST(CudnnGraphTest, PaddingIsEvenWhereThatMakesTheSameOutput) {
  // 224 elements, windows of 7 in steps of 2 from -3: the last ends 2 beyond, and 3 make no more.
  EXPECT_NE(Graph("tensor X: f32[1,1,224] outside zero; tensor W: f32[1,1,7]\n"
                  "tensor Y: f32[1,1,112]\nY[n,f,x] = sum(c,r: X[n,c,2*x+r-3]*W[f,c,r])")
                .find("pad=0,3:0,3"),
            std::string::npos);
  // In steps of 1 they would make one more.
  EXPECT_NE(Graph("tensor X: f32[1,1,224] outside zero; tensor W: f32[1,1,7]\n"
                  "tensor Y: f32[1,1,223]\nY[n,f,x] = sum(c,r: X[n,c,x+r-3]*W[f,c,r])")
                .find("pad=0,3:0,2"),
            std::string::npos);
}

TEST(CudnnGraphTest, FlopsOfAConvolution) {
  const Result<CudnnGraph> graph = CudnnGraphOf(*MakeConv(Conv(false)));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->flops(), 2.0 * 8 * 32 * 10 * 11 * 16 * 3 * 5);
}

TEST(CudnnGraphTest, WhatItIsNot) {
  EXPECT_EQ(Graph("tensor x: f32[4]; tensor y: f32[4]; y[i] = x[i]"), "refused: not a convolution");
  EXPECT_EQ(
      Graph("tensor X: f32[2,3,20] outside clamp; tensor W: f32[4,3,5]; tensor Y: f32[2,4,20]\n"
            "Y[n,f,x] = sum(c,r: X[n,c,x+r-2]*W[f,c,r])"),
      "refused: reads outside the image are not zero");
}

TEST(CudnnGraphTest, TheContractIsPartOfTheGraph) {
  hiera_conv conv = Conv(false);
  conv.dtype = HIERA_F32;
  Task task = *MakeConv(conv);
  EXPECT_FALSE(CudnnGraphOf(task)->tf32);
  task.contract.arithmetic = Arithmetic::kTf32;
  task.contract.deterministic = true;
  task.contract.alignment = 16;
  const std::string text = Graph(task);
  EXPECT_NE(text.find("compute=tf32"), std::string::npos);
  EXPECT_NE(text.find("repeatable=yes align=16"), std::string::npos) << text;
}

TEST(CudnnEngineTest, TextAndBack) {
  const CudnnEngine engine{38, {{0, 12}, {2, -1}}};
  EXPECT_EQ(engine.Text(), "engine=38 k0=12 k2=-1");
  EXPECT_EQ(*ParseCudnnEngine(engine.Text()), engine);
  EXPECT_EQ(*ParseCudnnEngine("engine=0"), CudnnEngine());
  for (const char* bad : {"", "engine=", "engine=1 ", "engine=1 k2=3 k1=4", "engine=1 k1=2 k1=2",
                          "engine=01", "engine=1 j2=3", "engine=1 k2"}) {
    EXPECT_FALSE(ParseCudnnEngine(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace hiera
