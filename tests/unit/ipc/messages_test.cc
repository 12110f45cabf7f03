#include "runtime/ipc/messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/bytes.h"
#include "tests/unit/ipc/sample_messages.h"

namespace hiera {
namespace {

constexpr size_t kHeaderBytes = 8;

std::string Body(const Message& message) { return EncodeFrame(message).substr(kHeaderBytes); }

uint32_t Type(const Message& message) { return static_cast<uint32_t>(message.index()); }

TEST(Messages, EveryTypeHasASample) {
  std::set<size_t> types;
  for (const Message& message : SampleMessages()) types.insert(message.index());
  EXPECT_EQ(types.size(), std::variant_size_v<Message>);
}

TEST(Messages, FramesStateTheirLengthAndType) {
  for (const Message& message : SampleMessages()) {
    const std::string frame = EncodeFrame(message);
    ByteReader header(frame);
    EXPECT_EQ(header.U32(), frame.size() - kHeaderBytes);
    EXPECT_EQ(header.U32(), message.index());
  }
}

// Fields that a decoder forgot, or read in another order, would not encode to the same bytes. That
// no field is left at its default is what makes forgetting one visible.
TEST(Messages, SurviveTheRoundTrip) {
  for (const Message& message : SampleMessages()) {
    const std::string body = Body(message);
    const Result<Message> decoded = DecodeBody(Type(message), body);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(Body(*decoded), body) << "type " << message.index();
  }
}

TEST(Messages, FieldsArriveWhereTheyWereSent) {
  const auto samples = SampleMessages();
  const Result<Message> announce = DecodeBody(6, Body(samples[6]));
  ASSERT_TRUE(announce.ok());
  EXPECT_EQ(std::get<Announce>(*announce).variant, SampleVariant());

  const Result<Message> judge = DecodeBody(11, Body(samples[11]));
  ASSERT_TRUE(judge.ok());
  const auto& request = std::get<JudgeRequest>(*judge);
  EXPECT_EQ(request.id, 21u);
  EXPECT_EQ(request.incumbent.kind, Incumbent::Kind::kVariant);
  EXPECT_EQ(request.incumbent.plan, (LaunchPlan{"object", 1, 2}));
  ASSERT_EQ(request.candidates.size(), 2u);
  EXPECT_EQ(request.candidates[1].name, "b");
  EXPECT_EQ(request.candidates[1].source.size(), 13u);
  EXPECT_EQ(request.candidates[1].flags, (std::vector<std::string>{"-funroll-loops", "-DN=8"}));
  EXPECT_EQ(request.candidates[0].compiler, Candidate::Compiler::kClang);
  EXPECT_TRUE(request.full);

  const Result<Message> report = DecodeBody(13, Body(samples[13]));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(std::get<JudgeReport>(*report).verdict, Verdict::kWrong);
  EXPECT_EQ(std::get<JudgeReport>(*report).ratio_low, 1.9);
}

// The protocol's version must change with these bytes.
TEST(Messages, TheWireFormatIsFixed) {
  const std::string frame = EncodeFrame(Progress{Hash128{1, 2}, 3, 4, "ab"});
  const std::string_view expected(
      "\x1e\0\0\0\x08\0\0\0"                  // 30 bytes, type 8
      "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"  // key
      "\x03\0\0\0\x04\0\0\0"                  // done, total
      "\x02\0\0\0ab",                         // text
      38);
  EXPECT_EQ(frame, expected);
}

TEST(Messages, EveryProperPrefixIsRejected) {
  for (const Message& message : SampleMessages()) {
    const std::string body = Body(message);
    for (size_t size = 0; size < body.size(); ++size) {
      // A copy of exactly this size, so that address sanitizer sees a read beyond it.
      const std::string prefix(body, 0, size);
      EXPECT_FALSE(DecodeBody(Type(message), prefix).ok())
          << "type " << message.index() << " cut to " << size << " of " << body.size();
    }
    EXPECT_FALSE(DecodeBody(Type(message), body + '\0').ok()) << "type " << message.index();
  }
}

// A flipped bit is either noticed or is another message of the same type; never undefined.
TEST(Messages, FlippedBitsNeverDecodeToSomethingInconsistent) {
  for (const Message& message : SampleMessages()) {
    const std::string body = Body(message);
    for (size_t i = 0; i < body.size() * 8; ++i) {
      std::string flipped = body;
      flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
      const Result<Message> decoded = DecodeBody(Type(message), flipped);
      if (decoded.ok()) {
        EXPECT_EQ(Body(*decoded), flipped) << "type " << message.index() << ", bit " << i;
      } else {
        EXPECT_EQ(decoded.status().code(), Code::kInvalidArgument);
      }
    }
  }
}

TEST(Messages, VariantsAreCheckedBitByBit) {
  const std::string body = Body(Announce{SampleVariant()});
  for (size_t i = 0; i < body.size() * 8; ++i) {
    std::string flipped = body;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_FALSE(DecodeBody(6, flipped).ok()) << "bit " << i;
  }
}

TEST(Messages, UnknownTypesAndValuesAreRejected) {
  EXPECT_FALSE(DecodeBody(std::variant_size_v<Message>, "").ok());
  EXPECT_FALSE(DecodeBody(~0u, "").ok());
  // A verdict beyond the last one, right after id and candidate.
  std::string body = Body(JudgeReport{});
  body[12] = static_cast<char>(static_cast<int>(Verdict::kUnloadable) + 1);
  const Result<Message> decoded = DecodeBody(13, body);
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.status().message().find("JudgeReport"), std::string::npos);
}

// A count of four billion flags in a body of a few bytes.
TEST(Messages, AForgedCountAllocatesNothing) {
  ByteWriter w;
  w.U64(1);
  w.String("t");
  w.U8(0);
  w.String("");
  w.I64(0);
  w.I64(0);
  w.String("");
  w.String("");
  w.U32(~0u);
  EXPECT_FALSE(DecodeBody(11, w.bytes()).ok());
}

}  // namespace
}  // namespace hiera
