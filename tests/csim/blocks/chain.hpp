// The bitshuffle-LZ4 decoder: its stages one after the other, each with all frames in one call.
#pragma once

#include <hls/collect_pixels.hpp>
#include <hls/deal_blocks.hpp>
#include <hls/decode_blocks.hpp>
#include <hls/find_sequences.hpp>

#include "../decoder/stages.hpp"
#include "chunk.hpp"

namespace blocks_test {

using namespace decoder_test;

constexpr int kLanes = kernels::kLanes;

// Inside a launch with its mode; declared depths are 2.
template <int kEngines>
std::vector<Frame> launch_chain(annulus_sim::Launch& launch, const std::vector<Bytes>& chunks,
                                uint32_t pixels, const PixelKind& kind) {
  const auto frames = static_cast<uint32_t>(chunks.size());
  const uint32_t groups = (pixels + kLanes - 1) / kLanes;
  std::vector<kernels::Pixels<kLanes>> got_vectors;
  std::vector<kernels::Report> got_reports;
  launch.run([&] {
    hls::stream<uint32_t> sizes("sizes");
    hls::stream<kernels::Beat> beats("beats");
    hls::stream<kernels::BlockWord> words[kEngines];
    hls::stream<kernels::Sequence> sequences[kEngines];
    hls::stream<kernels::PlaneBeat> planes[kEngines];
    hls::stream<kernels::Pixels<kLanes>> vectors("vectors");
    hls::stream<kernels::Report> reports("reports");
    annulus_sim::stage("feed", [&] {
      for (const Bytes& chunk : chunks) feed_payload(sizes, beats, chunk, fill_with(0xFF));
    });
    annulus_sim::stage("deal_blocks", [&] {
      kernels::deal_blocks<kEngines>(sizes, beats, frames, pixels, kind.shift, words);
    });
    for (int i = 0; i < kEngines; ++i) {
      annulus_sim::stage("find_sequences", [&, i] { kernels::find_sequences(words[i], sequences[i]); });
    }
    for (int i = 0; i < kEngines; ++i) {
      annulus_sim::stage("decode_blocks",
                         [&, i] { kernels::decode_blocks(sequences[i], kind.shift, planes[i]); });
    }
    annulus_sim::stage("collect_pixels", [&] {
      kernels::collect_pixels<kLanes, kEngines>(planes, frames, pixels, kind.shift, kind.is_signed, vectors,
                                                reports);
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

template <int kEngines>
std::vector<Frame> decode_in_chain(const std::vector<Bytes>& chunks, uint32_t pixels, const PixelKind& kind) {
  annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
  return launch_chain<kEngines>(launch, chunks, pixels, kind);
}

// Every frame as the serial decoder has it.
inline void expect_as_serially(const std::vector<Frame>& got, const std::vector<Bytes>& chunks,
                               uint32_t pixels, const PixelKind& kind) {
  ASSERT_EQ(got.size(), chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Frame expected = decode_chunk_serially(chunks[i], pixels, kind).padded(pixels, kLanes);
    ASSERT_EQ(got[i].report.status, expected.report.status)
        << "frame " << i << " of " << pixels << ' ' << kind.name;
    ASSERT_EQ(got[i].report.byte, expected.report.byte)
        << "frame " << i << " of " << pixels << ' ' << kind.name;
    ASSERT_EQ(got[i].report.pixel, expected.report.pixel)
        << "frame " << i << " of " << pixels << ' ' << kind.name;
    const auto differs = std::mismatch(got[i].pixels.begin(), got[i].pixels.end(), expected.pixels.begin());
    ASSERT_EQ(differs.first, got[i].pixels.end())
        << "frame " << i << " of " << pixels << ' ' << kind.name << ": pixel "
        << differs.first - got[i].pixels.begin() << " is " << *differs.first << ", not " << *differs.second;
  }
}

}  // namespace blocks_test
