// The words of an MSCCL file, for tests that write files by hand.
#pragma once

#include <string>

namespace mycel::msccl_text {

inline std::string Step(int s, const std::string& type, const std::string& source, int source_offset,
                        const std::string& target, int target_offset, int count = 1, int dep_block = -1,
                        int dep_step = -1, bool has_dependents = false) {
  return "<step s=\"" + std::to_string(s) + "\" type=\"" + type + "\" srcbuf=\"" + source + "\" srcoff=\"" +
         std::to_string(source_offset) + "\" dstbuf=\"" + target + "\" dstoff=\"" + std::to_string(target_offset) +
         "\" cnt=\"" + std::to_string(count) + "\" depid=\"" + std::to_string(dep_block) + "\" deps=\"" +
         std::to_string(dep_step) + "\" hasdep=\"" + (has_dependents ? "1" : "0") + "\"/>\n";
}

inline std::string Block(int id, int send, int recv, int channel, const std::string& steps) {
  return "<tb id=\"" + std::to_string(id) + "\" send=\"" + std::to_string(send) + "\" recv=\"" + std::to_string(recv) +
         "\" chan=\"" + std::to_string(channel) + "\">\n" + steps + "</tb>\n";
}

inline std::string Gpu(int id, int input, int output, int scratch, const std::string& blocks) {
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"" + std::to_string(input) + "\" o_chunks=\"" +
         std::to_string(output) + "\" s_chunks=\"" + std::to_string(scratch) + "\">\n" + blocks + "</gpu>\n";
}

/// `proto`: Simple, LL or LL128. `window`: minBytes and maxBytes; 0 is no upper bound.
inline std::string Algo(const std::string& collective, int ranks, int chunks, int channels, bool in_place,
                        bool out_of_place, const std::string& gpus, const std::string& proto = "Simple",
                        const std::string& min_bytes = "0", const std::string& max_bytes = "0") {
  return "<algo name=\"hand\" proto=\"" + proto + "\" nchannels=\"" + std::to_string(channels) +
         "\" nchunksperloop=\"" + std::to_string(chunks) + "\" ngpus=\"" + std::to_string(ranks) + "\" coll=\"" +
         collective + "\" inplace=\"" + (in_place ? "1" : "0") + "\" outofplace=\"" + (out_of_place ? "1" : "0") +
         "\" minBytes=\"" + min_bytes + "\" maxBytes=\"" + max_bytes + "\">\n" + gpus + "</algo>\n";
}

}  // namespace mycel::msccl_text
