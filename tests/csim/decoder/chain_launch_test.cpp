// The stages as a dataflow: a thread each, streams bounded.
#include "chain.hpp"
#include "random_frames.hpp"

namespace decoder_test {
namespace {

template <typename S>
class ChainLaunch : public ::testing::Test {};
TYPED_TEST_SUITE(ChainLaunch, Shapes, ShapeNames);

// Everything inside the launch, so that it also fails if a stage leaves data behind.
template <typename S>
std::vector<Frame> launch_chain(annulus_sim::Launch& launch, const std::vector<Bytes>& payloads,
                                uint32_t pixels) {
  const auto frames = static_cast<uint32_t>(payloads.size());
  const uint32_t groups = (pixels + S::kLanes - 1) / S::kLanes;
  std::vector<kernels::Pixels<S::kLanes>> got_vectors;
  std::vector<kernels::Report> got_reports;
  launch.run([&] {
    hls::stream<uint32_t> sizes("sizes");
    hls::stream<kernels::Beat> beats("beats");
    hls::stream<kernels::Window<S::kBytes>> windows("windows");
    hls::stream<kernels::Codes<S::kBytes>> codes("codes");
    hls::stream<kernels::Values<S::kBytes>> values("values");
    hls::stream<kernels::Pixels<S::kLanes>> vectors("vectors");
    hls::stream<kernels::Report> reports("reports");
    annulus_sim::stage("feed", [&] {
      for (const Bytes& payload : payloads) feed_payload(sizes, beats, payload, fill_with(0x80));
    });
    annulus_sim::stage("split_windows",
                       [&] { kernels::split_windows<S::kBytes>(sizes, beats, frames, windows); });
    annulus_sim::stage("find_codes", [&] { kernels::find_codes<S::kBytes>(windows, frames, codes); });
    annulus_sim::stage("add_differences",
                       [&] { kernels::add_differences<S::kBytes>(codes, frames, values); });
    annulus_sim::stage("compact_pixels", [&] {
      kernels::compact_pixels<S::kBytes, S::kLanes>(values, frames, pixels, vectors, reports);
    });
    annulus_sim::stage("collect", [&] {
      for (uint32_t frame = 0; frame < frames; ++frame) {
        for (uint32_t group = 0; group < groups; ++group) got_vectors.push_back(vectors.read());
        got_reports.push_back(reports.read());
      }
    });
    annulus_sim::finish_stages();
  });
  return collect_frames(got_vectors, got_reports, pixels);
}

TYPED_TEST(ChainLaunch, RunsWithStreamsOfOneElementWhateverTheFramesHold) {
  constexpr uint32_t kFrames = 100;
  for (const uint32_t pixels : {1u, 16u, 37u}) {
    RandomFrames random(pixels, pixels);
    std::vector<Bytes> payloads;
    for (uint32_t i = 0; i < kFrames; ++i) payloads.push_back(random.next());
    annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
    launch.force_depth(1);
    const std::vector<Frame> got = launch_chain<TypeParam>(launch, payloads, pixels);
    ASSERT_EQ(got.size(), kFrames);
    for (uint32_t i = 0; i < kFrames; ++i) {
      const Frame expected = decode_serially(payloads[i], pixels).padded(pixels, TypeParam::kLanes);
      ASSERT_EQ(got[i], expected) << "frame " << i << " of " << pixels << " pixels";
    }
  }
}

TYPED_TEST(ChainLaunch, EveryStageTakesOneIterationAWordOfAGoodFrame) {
  constexpr uint32_t kPixels = 20 * TypeParam::kLanes + 1;
  Payload payload;
  for (uint32_t i = 0; i < kPixels; ++i) {
    payload.add_pixel(static_cast<int32_t>(i % 100), i % 50 == 49 ? 15 : i % 10 == 9 ? 3 : 1);
  }
  annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
  const std::vector<Frame> got = launch_chain<TypeParam>(launch, {payload.bytes}, kPixels);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0], (Frame{{}, payload.pixels}.padded(kPixels, TypeParam::kLanes)));
  const uint64_t words = (payload.bytes.size() + TypeParam::kBytes - 1) / TypeParam::kBytes;
  uint32_t stages = 0;
  for (const annulus_sim::StageReport& stage : launch.report().stages) {
    if (stage.name == "feed" || stage.name == "collect") continue;
    ++stages;
    // The last pixel alone fills no vector: one iteration more.
    EXPECT_EQ(stage.iterations, stage.name == "compact_pixels" ? words + 1 : words) << stage.name;
  }
  EXPECT_EQ(stages, 4u);
}

}  // namespace
}  // namespace decoder_test
