// SPDX-License-Identifier: MIT
// Packs the text of a trace as Accel-Sim 2.0 would, for measurements. Usage: mergelane_pack_tracez IN.traceg OUT.tracez [CHUNK], with at
// most CHUNK instructions per sub-chunk.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>

#include "../tests/support/tracez_writer.hpp"

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: %s IN.traceg OUT.tracez [CHUNK]\n", argv[0]);
        return 2;
    }
    try {
        std::ifstream in(argv[1], std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        mergelane::testing::TracezOptions options;
        if (argc == 4) options.chunk = std::strtoul(argv[3], nullptr, 10);
        const auto file = mergelane::testing::TracezWriter(options).write(text);
        std::ofstream(argv[2], std::ios::binary) << file.bytes;
        std::printf("%zu bytes of text, %zu packed, dictionary of %zu\n", text.size(), file.bytes.size(), file.dictionary_size);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 2;
    }
    return 0;
}
